"""Java's plugins, once for each process of the test run."""

from collections.abc import Iterator

import pytest

from tests.conformance.java_records import JavaRecords, java_records


@pytest.fixture(scope="session")
def java() -> Iterator[JavaRecords]:
    """Asks Java's own transforms and converters."""
    with java_records() as asked:
        yield asked
