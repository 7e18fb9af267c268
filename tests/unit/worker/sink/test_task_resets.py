"""A sink task whose topic is created again or truncated, awake and asleep. No brokers, no Spark, no waiting."""

from collections.abc import Callable, Iterator
from itertools import chain

import pytest

from connect_dagster.kafka.offset_reset import OffsetReset
from connect_dagster.protocol.states import TargetState
from connect_dagster.worker.sink import task as sink_task
from tests.unit.worker.sink.local_sink import (
    FAILED,
    FIRST,
    READ_TIMEOUT,
    RUN,
    SECOND,
    TOLERANT,
    LocalSink,
    asleep,
    raises,
    refused,
    spark_failure,
    well,
)

OLD = ["old"] * 5


@pytest.fixture(autouse=True)
def _read_by_ranges(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a task that has read all awake, unless the test says that it sleeps."""
    if "sleeps" not in request.fixturenames or not request.getfixturevalue("sleeps"):
        monkeypatch.setattr(sink_task, "FEW_RECORDS", 0)


def local_sink(policy: str = "earliest", *, interval: float = 60.0) -> LocalSink:
    sink = LocalSink(max_interval=interval)
    sink.group.policy = OffsetReset(policy, lambda *_: None)
    return sink


def steps(count: int = 4) -> Iterator[None]:
    for _ in range(count):
        yield


@pytest.mark.parametrize("sleeps", [False, True], ids=["awake", "asleep"])
@pytest.mark.parametrize("committed", [False, True], ids=["not committed", "committed"])
def test_a_topic_created_again_is_read_from_its_beginning(sleeps: bool, committed: bool) -> None:
    """Fails at ce718d3: the task went on at the end of the new log, and committed that."""
    sink = local_sink(interval=1.0 if committed else 3600.0)

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        yield from asleep(sink) if sleeps else steps()
        sink.group.recreate(FIRST, "new 1", "new 2")
        sink.group.has_record = sleeps
        yield
        sink.group.has_record = False
        yield from steps()
        sink.log[FIRST].append("new 3")
        yield from steps()

    sink.run(script)
    assert sink.states.seen == RUN
    assert sink.puts == [OLD, ["new 1", "new 2"], ["new 3"]]
    assert sink.group.committed == {FIRST: 3}
    assert sink.calls("open", "close") == [("open", [FIRST]), ("close", [FIRST]), ("open", [FIRST]), ("close", [FIRST])]


def test_what_was_fetched_ahead_is_forgotten_where_a_log_may_be_another_one() -> None:
    """At an assignment and at a reset; not when the task rewinds."""
    sink = local_sink()
    sink.plugin.on["put"] = [lambda _: None, lambda _: sink.context.offset({FIRST: 3})]

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        yield from steps()
        sink.log[FIRST] += OLD
        yield from steps()
        sink.group.recreate(FIRST, "new")
        yield from steps()

    sink.run(script)
    assert [(one.started_at[FIRST], one.new_consumers) for one in sink.streams] == [(0, True), (3, False), (0, True)]


def created_again(sink: LocalSink) -> None:
    sink.group.recreate(FIRST, "new 1", "new 2")


def created_again_and_longer(sink: LocalSink) -> None:
    sink.group.recreate(FIRST, *(f"new {number}" for number in range(1, 9)))


def truncated(sink: LocalSink) -> None:
    del sink.log[FIRST][2:]


def removed(sink: LocalSink) -> None:
    """Retention has removed what the task has not read yet."""
    sink.log[FIRST] += [f"new {number}" for number in range(1, 5)]
    sink.group.removed[FIRST] = 7


Fault = Callable[[LocalSink], None]
FAULTS: dict[Fault, list[str]] = {
    created_again: ["new 1", "new 2"],
    created_again_and_longer: [f"new {number}" for number in range(1, 9)],
    truncated: ["old", "old"],
    removed: ["new 3", "new 4"],
}
"""What the log has then."""


@pytest.mark.parametrize("sleeps", [False, True], ids=["awake", "asleep"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("policy", ["earliest", "latest", "none"])
def test_a_log_that_no_longer_has_the_position(
    policy: str, fault: Fault, sleeps: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Fails at ce718d3: the task went on at the end of the log and committed that, without a word, with any policy."""
    sink = local_sink(policy, interval=1.0)
    sink.group.committed[FIRST] = 0

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        yield from asleep(sink) if sleeps else steps()
        fault(sink)
        sink.group.has_record = sleeps
        yield
        sink.group.has_record = False
        yield from steps(150)
        sink.log[FIRST].append("next")
        yield from steps(150)

    sink.run(script)
    skipped = fault is removed and not sleeps and policy != "none"  # by Spark, which reads what is still there
    assert ("Cannot read t-0 at offset" in caplog.text + "".join(sink.states.traces)) is not skipped
    if policy == "none":
        assert sink.states.seen == FAILED
        assert "and auto.offset.reset is none" in sink.states.traces[0]
        assert "next" not in chain.from_iterable(sink.puts)
        return
    assert sink.states.seen == RUN
    read = [value for put in sink.puts[1:] for value in put]
    assert sink.puts[0] == OLD
    assert read[-1] == "next"
    if policy == "earliest":
        assert [*FAULTS[fault], "next"] == read[-len(FAULTS[fault]) - 1 :]
    else:
        assert set(read) <= {"next", *(FAULTS[fault] if skipped or fault is created_again_and_longer else ())}
    assert sink.group.committed == {FIRST: len(sink.log[FIRST])}


@pytest.mark.parametrize(("policy", "expected"), [("earliest", [OLD]), ("latest", [["next"]]), ("none", [])])
def test_a_commit_beyond_the_end(policy: str, expected: list[list[str]]) -> None:
    """A user has set it by mistake, or the brokers have kept it beyond the topic."""
    sink = local_sink(policy)
    sink.group.committed[FIRST] = 9
    sink.log[FIRST] += OLD

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        yield from steps()
        if policy == "latest":
            sink.log[FIRST].append("next")
            yield from steps()

    sink.run(script)
    assert sink.puts == expected
    if policy == "none":
        assert "Cannot read t-0 at offset 9, its log is 0 to 5: the log ends before" in sink.states.traces[0]


def test_a_new_topic_that_has_outgrown_the_old_one_is_noticed_at_the_next_commit() -> None:
    """Fails at ce718d3: the first records of the new topic were skipped, as Java skips them."""
    sink = local_sink(interval=1.0)

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        yield
        sink.group.recreate(FIRST, *(f"new {index}" for index in range(7)))
        for _ in range(150):
            yield

    sink.run(script)
    assert sink.puts[-1] == [f"new {index}" for index in range(7)]
    assert sink.group.committed == {FIRST: 7}


def test_nothing_read_of_the_topic_before_is_committed_for_the_new_one() -> None:
    """Fails at ce718d3: a rebalance committed the old position for the new topic."""
    sink = local_sink(interval=3600.0)

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        yield
        sink.group.recreate(FIRST, *(f"new {index}" for index in range(7)))
        sink.group.revoke(FIRST)
        assert sink.group.commits == []
        sink.group.assign(FIRST)
        yield from steps()

    sink.run(script)
    assert sink.puts[-1] == [f"new {index}" for index in range(7)]


def test_a_commit_under_way_does_not_count_for_the_new_topic() -> None:
    sink = local_sink(interval=1.0)

    def script() -> Iterator[None]:
        sink.group.silent = True
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        while not sink.group.commits:
            yield
        sink.group.recreate(FIRST, "new")
        sink.group.silent = False
        while len(sink.puts) < 2:
            yield
        while len(sink.group.commits) < 2:
            yield

    sink.run(script)
    assert sink.puts == [OLD, ["new"]]
    assert sink.group.committed == {FIRST: 1}


def test_an_empty_new_topic_gets_its_first_offset_committed() -> None:
    sink = local_sink(interval=1.0)
    sink.group.committed[FIRST] = 0

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        while sink.group.committed[FIRST] != 5:
            yield
        sink.log[FIRST].clear()
        sink.group.ids["t"] = "again"
        while sink.group.committed[FIRST] == 5:
            yield

    sink.run(script)
    assert sink.group.committed == {FIRST: 0}


@pytest.mark.parametrize(("removed", "policy", "expected"), [(3, "earliest", ["d", "e"]), (3, "latest", [])])
def test_a_pause_longer_than_the_retention_ends_by_the_policy(removed: int, policy: str, expected: list[str]) -> None:
    sink = local_sink(policy)
    sink.group.committed[FIRST] = 0

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        yield
        sink.task.transition(TargetState.PAUSED)
        yield
        sink.log[FIRST] += "abcde"
        sink.group.removed[FIRST] = removed
        sink.task.transition(TargetState.STARTED)
        yield from steps()

    sink.run(script)
    assert sink.puts == ([expected] if expected else [])
    assert sink.group.committed == {FIRST: 5}
    assert len(sink.calls("open")) == 1  # retention is no reason to open a partition again


def test_partitions_that_stay_are_read_on() -> None:
    sink = local_sink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.log[SECOND] += ["a"]
        sink.group.assign(FIRST, SECOND)
        yield from steps()
        del sink.log[FIRST][1:]
        sink.log[SECOND] += ["b"]
        yield from steps()

    sink.run(script)
    assert sink.puts == [[*OLD, "a"], ["old", "b"]]
    assert sink.group.committed == {FIRST: 1, SECOND: 2}
    assert sink.calls("close")[0] == ("close", [FIRST])


def test_what_the_task_keeps_beside_the_topic_is_asked_again_and_checked_once() -> None:
    sink = local_sink()
    kept = {FIRST: 5}
    go_back = lambda _: sink.context.offset(kept)  # noqa: E731
    sink.plugin.on["open"] = [well, go_back]

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        yield from steps()
        del sink.log[FIRST][2:]
        yield from steps(8)

    sink.run(script)
    assert sink.puts == [OLD, ["old", "old"]]
    assert len(sink.calls("open")) == 2


def test_a_request_about_the_topic_before_is_dropped() -> None:
    sink = local_sink()
    sink.plugin.on["close"] = [lambda _: sink.context.offset({FIRST: 1})]

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        yield from steps()
        sink.group.recreate(FIRST, "a", "b")
        yield from steps()

    sink.run(script)
    assert sink.puts == [OLD, ["a", "b"]]


def test_the_task_knows_the_ids_of_its_topics_when_it_is_opened() -> None:
    sink = local_sink()
    seen: list[object] = []
    sink.plugin.on["open"] = [lambda _: seen.append(sink.context.topic_ids)] * 2

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        yield from steps()
        sink.group.recreate(FIRST, "a")
        yield from steps()

    sink.run(script)
    assert seen == [{"t": "first"}, {"t": "again"}]


def test_a_read_lost_with_its_topic_is_repeated_at_the_new_beginning() -> None:
    """Fails at ce718d3: reading again began at the last position."""
    sink = local_sink()
    sink.plugin.on["put"] = [well, raises(spark_failure(READ_TIMEOUT))]

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        yield
        sink.log[FIRST] += ["f"]
        yield
        sink.group.recreate(FIRST, *"abcdefg")
        sink.group.away = 2
        for _ in range(60):
            yield

    sink.run(script)
    assert sink.puts[-1] == list("abcdefg")
    assert sink.states.seen == RUN


def test_a_read_that_fails_for_lost_records_is_explained_by_the_offsets() -> None:
    """Fails at ce718d3: the trace was Spark's advice about its option failOnDataLoss."""
    sink = local_sink("none")
    sink.group.committed[FIRST] = 0

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        yield
        sink.log[FIRST] += "fghij"
        sink.group.removed[FIRST] = 9
        for _ in range(20):
            yield

    sink.run(script)
    assert sink.states.seen == FAILED
    assert "Cannot read t-0 at offset 5, its log is 9 to" in sink.states.traces[0]


def test_after_a_failed_commit_of_the_task_the_new_topic_is_read_again_from_its_beginning() -> None:
    sink = local_sink(interval=1.0)
    sink.plugin.on["pre_commit"] = [well]

    def script() -> Iterator[None]:
        sink.log[FIRST] += OLD
        sink.group.assign(FIRST)
        while sink.group.committed.get(FIRST) != 5:
            yield
        sink.group.recreate(FIRST, "a")
        sink.group.refusals.append(refused())
        sink.plugin.on["pre_commit"] = [raises(ValueError("not yet"))]
        while sink.group.committed.get(FIRST) != 1:
            yield

    sink.run(script)
    assert sink.puts[0] == OLD
    assert all(put == ["a"] for put in sink.puts[1:])


@pytest.mark.parametrize("tolerates", [False, True], ids=["fails", "tolerates"])
def test_records_removed_before_the_put_reads_them_are_explained_by_the_offsets(tolerates: bool) -> None:
    """Fails at 1f0d1e0: with Spark's advice about failOnDataLoss, or with the records taken for poison."""
    sink = LocalSink(TOLERANT if tolerates else None)
    sink.group.policy = OffsetReset("none", lambda *_: None)
    sink.group.committed[FIRST] = 0

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        yield
        sink.log[FIRST] += ["a", "lost"]
        yield
        sink.group.removed[FIRST] = 2
        yield from steps(20)

    sink.run(script)
    assert sink.states.seen == FAILED
    assert "Cannot read t-0 at offset 0, its log is 2 to 2: the log begins after" in sink.states.traces[0]
    assert sink.queue.written == []
