"""Java's plugins: what they answered when it was recorded, and a process for questions that are generated."""

from collections.abc import Iterator

import pytest

from tests.conformance.java_records import JavaProcess, JavaRecords
from tests.conformance.recorded_records import recorded
from tests.golden_answers import Golden


@pytest.fixture(scope="session")
def java_process() -> Iterator[JavaProcess]:
    """A JVM, once asked."""
    with JavaProcess() as process:
        yield process


@pytest.fixture(scope="module")
def java(golden: Golden, java_process: JavaProcess) -> JavaRecords:
    """Answers of Java's own transforms and converters, recorded by the module that asks."""
    return recorded(golden, java_process)


@pytest.fixture(scope="session")
def live_java(java_process: JavaProcess) -> JavaRecords:
    """Java itself, for questions that are generated: for tests marked nightly."""
    return JavaRecords(java_process.ask)
