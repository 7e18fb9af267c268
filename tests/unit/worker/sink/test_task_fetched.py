"""Few records are put as the group member has fetched them, many by ranges. No brokers, no Spark, no waiting."""

from collections.abc import Callable, Iterator

import pytest

from connect_dagster.errors import RetriableError
from connect_dagster.protocol.states import TargetState
from connect_dagster.worker.errors.policy import ErrorPolicy
from tests.unit.worker.sink.local_sink import (
    EXCEEDED,
    FAILED,
    FIRST,
    MARKER,
    NONE,
    RUN,
    SECOND,
    TOLERANT,
    LocalSink,
    asleep,
    raises,
    until_put,
)

MANY = [f"m{number}" for number in range(600)]


def steps(count: int = 3) -> Iterator[None]:
    for _ in range(count):
        yield


def written(sink: LocalSink, *bursts: list[str]) -> Callable[[], Iterator[None]]:
    """Write records while the task sleeps, each burst after the one before was put."""

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        yield from asleep(sink)
        for burst in bursts:
            sink.log[FIRST] += burst
            yield from until_put(sink, len(sink.log[FIRST]))
        yield

    return script


def test_few_records_are_put_together_without_a_range() -> None:
    sink = LocalSink()
    sink.run(written(sink, ["a", "b"], ["c"]))
    assert sink.puts == [["a", "b"], ["c"]]
    assert len(sink.streams) == 1
    assert sink.topics == [{"t"}, {"t"}]
    assert sink.group.committed == {FIRST: 3}
    assert sink.task.progress.total == 3
    assert sink.states.seen == RUN


def test_records_of_several_partitions_are_put_together() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.group.assign(FIRST, SECOND)
        yield from asleep(sink)
        sink.log[SECOND] += ["b"]
        sink.log[FIRST] += ["a"]
        yield from until_put(sink, 2)

    sink.run(script)
    assert [sorted(put) for put in sink.puts] == [["a", "b"]]
    assert sink.group.committed == {FIRST: 1, SECOND: 1}


def test_many_records_are_put_by_ranges_and_few_after_them_as_they_were_fetched() -> None:
    sink = LocalSink()
    sink.run(written(sink, ["a"], MANY, ["b"], ["c"]))
    assert sink.puts == [["a"], MANY, ["b"], ["c"]]
    assert [one.started_at for one in sink.streams] == [{FIRST: 0}, {FIRST: 1}]
    assert sink.group.committed == {FIRST: 603}


def test_a_task_begins_with_few_records_as_they_were_fetched() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 1)
        assert sink.group.watched == {FIRST: 1}
        assert sink.clock.now < 1

    sink.run(script)
    assert sink.puts == [["a"]]
    assert sink.task.progress.total == 1


def test_few_records_that_the_consumer_cannot_fetch_are_read_by_a_range() -> None:
    sink = LocalSink()
    sink.group.fetches = False

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 1)
        assert sink.group.watched == {FIRST: 1}
        sink.group.fetches = True
        sink.log[FIRST] += ["b"]
        yield from until_put(sink, 2)

    sink.run(script)
    assert sink.puts == [["a"], ["b"]]
    assert [one.started_at for one in sink.streams] == [{FIRST: 0}, {FIRST: 0}]


def test_offsets_without_a_record_before_the_first_one_are_passed_after_a_second() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += [MARKER, MARKER]
        sink.group.assign(FIRST)
        while len(sink.streams) < 2:
            yield
        assert 1 < sink.clock.now < 1.5
        yield

    sink.run(script)
    assert sink.group.committed == {FIRST: 2}


def test_a_task_that_has_read_many_waits_for_a_second_before_it_sleeps() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += MANY
        sink.group.assign(FIRST)
        yield from asleep(sink)
        assert 1 < sink.clock.now < 1.1

    sink.run(script)
    assert sink.puts == [MANY]


def test_a_put_is_repeated_before_the_records_that_came_meanwhile() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [raises(RetriableError())] * 2

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        yield from asleep(sink)
        sink.log[FIRST] += ["a"]
        yield
        yield
        sink.log[FIRST] += ["b"]
        while len(sink.puts) < 4:
            yield

    sink.run(script)
    assert sink.puts == [["a"], ["a"], ["a"], ["b"]]
    assert sink.counts()["total-retries"] == 2
    assert sink.group.committed == {FIRST: 2}


@pytest.mark.parametrize("event", ["pause", "revoke"])
def test_a_put_that_waits_is_given_up_with_its_records(event: str) -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [raises(RetriableError())]

    def script() -> Iterator[None]:
        sink.group.assign(FIRST, SECOND)
        yield from asleep(sink)
        sink.log[FIRST] += ["a"]
        while not sink.puts:
            yield
        if event == "pause":
            sink.task.transition(TargetState.PAUSED)
            yield from steps()
            sink.task.transition(TargetState.STARTED)
        else:
            sink.group.revoke(FIRST)
        sink.log[SECOND] += ["b"]
        yield from until_put(sink, 3 if event == "pause" else 2)

    sink.run(script)
    assert sink.puts == ([["a"], ["a", "b"]] if event == "pause" else [["a"], ["b"]])
    assert sink.group.committed == ({FIRST: 1, SECOND: 1} if event == "pause" else {SECOND: 1})


def test_a_put_that_fails_leaves_its_records_uncommitted() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [lambda _: None, raises(ValueError("full"))]
    sink.run(written(sink, ["a"], ["b"]))
    assert sink.states.seen == FAILED
    assert sink.group.committed == {FIRST: 1}


def test_a_task_that_rewinds_reads_again_from_there() -> None:
    sink = LocalSink()

    def rewind(_: object) -> None:
        sink.context.offset({FIRST: 1})

    sink.plugin.on["put"] = [lambda _: None, rewind]
    sink.run(written(sink, ["a", "b"], ["c"], ["d"]))
    assert sink.puts[:2] == [["a", "b"], ["c"]]
    assert [value for put in sink.puts[2:] for value in put] == ["b", "c", "d"]
    assert sink.group.committed == {FIRST: 4}


def test_a_partition_that_the_task_pauses_waits_and_the_other_is_put() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [lambda _: sink.context.pause(FIRST), lambda _: sink.context.resume(FIRST)]

    def script() -> Iterator[None]:
        sink.group.assign(FIRST, SECOND)
        yield from asleep(sink)
        sink.log[FIRST] += ["a"]
        yield from until_put(sink, 1)
        sink.log[FIRST] += ["b"]
        yield from steps(10)
        sink.log[SECOND] += ["c"]
        yield from until_put(sink, 3)

    sink.run(script)
    assert sink.puts == [["a"], ["c"], ["b"]]


@pytest.mark.parametrize("policy", [NONE, TOLERANT], ids=["none", "all"])
def test_a_record_that_cannot_be_read(policy: ErrorPolicy) -> None:
    sink = LocalSink(policy)

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        yield from asleep(sink)
        sink.log[FIRST] += ["a", "bad", "b"]
        yield from steps(10)

    sink.run(script)
    if policy is TOLERANT:
        assert sink.puts == [["a", "b"]]
        assert [letter.record.value for letter in sink.queue.written] == [b"bad"]
        assert sink.group.committed == {FIRST: 3}
    else:
        assert sink.states.traces[0].splitlines()[0] == EXCEEDED
        assert sink.group.committed == {}


def test_a_poison_record_is_taken_out() -> None:
    sink = LocalSink(TOLERANT)

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        yield from asleep(sink)
        sink.log[FIRST] += ["a", "poison", "b"]
        yield from until_put(sink, 2)

    sink.run(script)
    assert sink.puts == [["a", "b"]]
    assert [letter.record.value for letter in sink.queue.written] == [b"poison"]
    assert sink.group.committed == {FIRST: 3}


def test_a_record_of_another_schema_is_searched_for() -> None:
    sink = LocalSink()
    sink.run(written(sink, ["a"], ["b", "other"], ["c"]))
    assert sink.puts[-2:] == [["b", "other"], ["c"]]
    assert sink.group.committed == {FIRST: 4}


def test_the_position_passes_the_end_of_a_transaction_after_a_quiet_second() -> None:
    sink = LocalSink(max_interval=5.0)

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        yield from asleep(sink)
        for value in ("a", "b"):
            sink.log[FIRST] += [value, MARKER]
            yield from until_put(sink, len(sink.log[FIRST]) // 2)
        while sink.group.committed != {FIRST: 4}:
            yield
        streams = len(sink.streams)
        yield from steps(300)
        assert len(sink.streams) == streams

    sink.run(script)
    assert [put for put in sink.puts if put] == [["a"], ["b"]]
    assert len(sink.streams) == 2


def test_the_position_passes_aborted_records_with_a_commit() -> None:
    sink = LocalSink(max_interval=5.0)

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from asleep(sink)
        sink.log[FIRST] += [MARKER, MARKER]
        while sink.group.committed != {FIRST: 3}:
            yield

    sink.run(script)
    assert sink.clock.now < 3 * 5.0
