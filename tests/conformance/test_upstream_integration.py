"""Kafka's own integration tests of Connect drive our workers: one test here for each of its classes."""

from pathlib import Path

import pytest

from tests.conformance.upstream_suite import run_class
from tests.distributed_process import DistributedProcess

# The test waits 60 s for a worker that gives up after 60 s; in the worker's own JVM it is told of that at once, and
# had it shorten the health check before.
NEEDS_THE_JVM = "testFailToCreateInternalTopicsWithMoreReplicasThanBrokers()"
# Their connector is a class of the suite's JVM, which they unblock at the end.
NEEDS_A_CLASS = frozenset(f"test{verb}SinkConnectorOffsetsZombieSinkTasks()" for verb in ("Alter", "Reset"))

# How many tests each class has, and which of them need the worker's JVM.
CLASSES = [
    ("file.integration.FileStreamSourceConnectorIntegrationTest", 4, frozenset[str]()),
    ("file.integration.FileStreamSinkConnectorIntegrationTest", 4, frozenset[str]()),
]
# These wait for minutes.
LONG_CLASSES = [
    ("integration.InternalTopicsIntegrationTest", 5, frozenset({NEEDS_THE_JVM})),
    ("integration.ConnectorTopicsIntegrationTest", 3, frozenset[str]()),
    ("integration.OffsetsApiIntegrationTest", 27, NEEDS_A_CLASS),
]
# Of the longest class, what is about exactly-once sources, and what is refused in Jackson's words.
OFFSETS = "org.apache.kafka.connect.integration.OffsetsApiIntegrationTest"
OF_OFFSETS = (
    "testAlterSourceConnectorOffsetsExactlyOnceSupportEnabled",
    "testResetSourceConnectorOffsetsExactlyOnceSupportEnabled",
    "testAlterSourceConnectorOffsetsInvalidRequestBody",
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "tests", "failing"),
    [
        *(pytest.param(*one, marks=pytest.mark.nightly) for one in CLASSES),
        *(pytest.param(*one, marks=pytest.mark.soak) for one in LONG_CLASSES),
    ],
    ids=[name.rpartition(".")[2] for name, _, _ in (*CLASSES, *LONG_CLASSES)],
)
def test_class_runs_with_our_workers(name: str, tests: int, failing: frozenset[str], tmp_path: Path) -> None:
    outcome = run_class(f"org.apache.kafka.connect.{name}", [DistributedProcess.command], tmp_path)
    assert outcome.failures.keys() == failing, outcome.report
    assert len(outcome.passed) == tests - len(failing), outcome.report


@pytest.mark.timeout(900)
@pytest.mark.nightly
def test_offsets_of_exactly_once_sources_are_edited(tmp_path: Path) -> None:
    outcome = run_class(OFFSETS, [DistributedProcess.command], tmp_path, methods=OF_OFFSETS)
    assert outcome.passed == {f"{method}()" for method in OF_OFFSETS}, outcome.report
