"""Java's converters that need a registry."""

from collections.abc import Iterator

import pytest

from tests.conformance.java_records import JavaRecords, java_records
from tests.registry_converters import JAVAS_JARS


@pytest.fixture(scope="session")
def java() -> Iterator[JavaRecords]:
    with java_records(JAVAS_JARS) as asked:
        yield asked
