"""Java's converters that need a registry."""

from collections.abc import Iterator

import pytest

from tests.conformance.java_records import JavaProcess, JavaRecords
from tests.registry_converters import JAVAS_JARS


@pytest.fixture(scope="session")
def java() -> Iterator[JavaRecords]:
    with JavaProcess(JAVAS_JARS) as process:
        yield JavaRecords(process.ask)
