"""Rebalances, pauses, rewinds and the sleep of a sink task. No brokers, no Spark, no waiting."""

from collections.abc import Iterator

import pytest

from connect_dagster.errors import RetriableError
from connect_dagster.protocol.states import State, TargetState
from tests.unit.worker.sink.local_sink import (
    FAILED,
    FIRST,
    RUN,
    SECOND,
    LocalSink,
    asleep,
    put_values,
    raises,
    until_put,
    well,
)


def test_a_task_that_ends_leaves_its_plans_to_others() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 1)
        assert not sink.planner.closed

    sink.run(script)
    assert sink.planner.closed


def test_a_task_without_partitions_waits_for_them_in_its_poll() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        yield
        assert sink.group.longest_poll > 0, "an assignment ends the poll, and not a pause after it"
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 1)

    sink.run(script)
    assert sink.puts == [["a"]]


def test_partitions_that_go_are_committed_and_closed_and_the_others_stay() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.log[SECOND] += ["b"]
        sink.group.assign(FIRST, SECOND)
        yield from until_put(sink, 2)
        sink.group.revoke(FIRST)
        assert sink.group.committed == {FIRST: 1, SECOND: 1}
        assert sink.context.assignment == {SECOND}
        sink.log[FIRST] += ["of another task"]
        sink.log[SECOND] += ["c"]
        yield from until_put(sink, 3)

    sink.run(script)
    assert sink.puts == [["a", "b"], ["c"]]
    assert sink.calls("open", "close") == [("open", [FIRST, SECOND]), ("close", [FIRST]), ("close", [SECOND])]
    assert sink.group.committed == {FIRST: 1, SECOND: 2}


def test_partitions_that_are_lost_are_closed_and_not_committed() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 1)
        sink.group.lose(FIRST)
        yield

    sink.run(script)
    assert sink.group.commits == []
    assert sink.calls("close", "pre_commit") == [("close", [FIRST])]


def test_a_partition_that_comes_back_begins_at_its_commit() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a", "b", "c"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 3)
        sink.group.lose(FIRST)
        sink.group.committed[FIRST] = 2  # by whoever had it meanwhile
        sink.group.assign(FIRST)
        yield from until_put(sink, 4)

    sink.run(script)
    assert sink.puts == [["a", "b", "c"], ["c"]]


def test_a_batch_whose_partition_goes_while_it_is_retried_is_dropped() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [raises(RetriableError())]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.log[SECOND] += ["b"]
        sink.group.assign(FIRST, SECOND)
        yield from until_put(sink, 2)
        sink.group.revoke(FIRST)
        while len(sink.puts) < 2:
            yield

    sink.run(script)
    assert sink.puts == [["a", "b"], ["b"]]
    assert sink.group.committed == {SECOND: 1}
    assert sink.streams[1].started_at == {SECOND: 0}


def test_a_partition_that_comes_while_a_batch_is_retried_is_read_with_it() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [raises(RetriableError())]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.log[SECOND] += ["b"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 1)
        sink.group.assign(SECOND)
        while len(sink.puts) < 2:
            yield

    sink.run(script)
    assert sink.puts == [["a"], ["a", "b"]]
    assert sink.group.committed == {FIRST: 1, SECOND: 1}


def test_s1_44_a_failure_of_open_fails_the_task() -> None:
    sink = LocalSink()
    sink.plugin.on["open"] = [raises(ValueError("at open"))]
    sink.run(put_values(sink, "a"))
    assert sink.states.seen == FAILED
    assert "at open" in sink.states.traces[0]
    assert [call[0] for call in sink.plugin.calls][-1] == "stop"


def test_s1_44_a_failure_of_close_fails_the_task_after_the_commit() -> None:
    sink = LocalSink()
    sink.plugin.on["close"] = [raises(ValueError("at close"))]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 1)
        sink.group.revoke(FIRST)
        yield

    sink.run(script)
    assert sink.states.seen == FAILED
    assert "ValueError: at close" in sink.states.traces[0]
    assert sink.group.committed == {FIRST: 1}
    assert [call[0] for call in sink.plugin.calls][-1] == "stop"


def test_a_failure_of_close_after_a_failed_put_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    sink = LocalSink()
    sink.plugin.on = {"put": [raises(ValueError("no such row"))], "close": [raises(ValueError("at close"))]}
    sink.run(put_values(sink, "a"))
    assert "no such row" in sink.states.traces[0]
    assert "Could not close partitions after a failure" in caplog.text


def test_s1_45_a_stop_while_a_put_is_retried_ends_at_once_and_commits_nothing() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [raises(RetriableError())] * 100

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 1)
        yield
        sink.task.stop()
        yield

    sink.run(script)
    assert sink.states.seen == RUN
    assert sink.puts == [["a"]]
    assert sink.group.commits == []
    assert [call[0] for call in sink.plugin.calls][-2:] == ["close", "stop"]


def test_s1_40_a_pause_stops_reading_commits_once_and_a_resume_goes_on() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 1)
        sink.task.transition(TargetState.PAUSED)
        for _ in range(20):
            yield
        assert sink.group.committed == {FIRST: 1}
        sink.log[FIRST] += ["b"]
        for _ in range(20):
            yield
        assert sink.puts == [["a"]]
        assert len(sink.calls("pre_commit")) == 1
        sink.task.transition(TargetState.STARTED)
        yield from until_put(sink, 2)

    sink.run(script)
    assert sink.puts == [["a"], ["b"]]
    assert sink.states.seen == [State.RUNNING, State.PAUSED, State.RUNNING, State.UNASSIGNED]
    assert len(sink.calls("open")) == 1


def test_a_pause_ends_a_retry_and_the_batch_comes_again_after_it() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [raises(RetriableError())]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a", "b"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 2)
        sink.task.transition(TargetState.PAUSED)
        yield
        yield
        assert sink.group.commits == []
        sink.task.transition(TargetState.STARTED)
        while len(sink.puts) < 2:
            yield

    sink.run(script)
    assert sink.puts == [["a", "b"]] * 2
    assert State.PAUSED in sink.states.seen


def test_s1_42_partitions_that_the_task_pauses_are_held_back() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [
        lambda _: sink.context.pause(SECOND),
        lambda _: sink.context.resume(SECOND),
    ]

    def script() -> Iterator[None]:
        sink.group.assign(FIRST, SECOND)
        sink.log[FIRST] += ["a"]
        yield from until_put(sink, 1)
        sink.log[SECOND] += ["held back"]
        yield
        yield
        assert sink.puts == [["a"]]
        sink.log[FIRST] += ["b"]
        while len(sink.puts) < 3:
            yield

    sink.run(script)
    assert sink.puts == [["a"], ["b"], ["held back"]]
    assert len(sink.calls("open")) == 1


def test_s1_42_partitions_paused_before_a_retry_stay_in_the_batch() -> None:
    sink = LocalSink()

    def pause_and_retry(_: object) -> None:
        sink.context.pause(SECOND)
        raise RetriableError

    sink.plugin.on["put"] = [pause_and_retry, well, lambda _: sink.context.resume(SECOND)]

    def script() -> Iterator[None]:
        sink.group.assign(FIRST, SECOND)
        sink.log[FIRST] += ["a"]
        while len(sink.puts) < 2:
            yield
        sink.log[SECOND] += ["held back"]
        sink.log[FIRST] += ["b"]
        while len(sink.puts) < 4:
            yield

    sink.run(script)
    assert sink.puts == [["a"], ["a"], ["b"], ["held back"]]


def test_s1_41_a_task_goes_back_by_its_context() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [lambda _: sink.context.offset({FIRST: 2})]
    sink.run(put_values(sink, *"abcde"))
    assert sink.puts == [list("abcde"), list("cde")]
    assert sink.group.committed == {FIRST: 5}


def test_a_task_goes_back_when_it_is_opened() -> None:
    sink = LocalSink()
    sink.plugin.on["open"] = [lambda _: sink.context.offset({FIRST: 3})]
    sink.run(put_values(sink, *"abcde"))
    assert sink.puts == [list("de")]


def test_nobody_commits_beyond_where_the_task_goes_back_to() -> None:
    sink = LocalSink()

    def rewind_and_commit(_: object) -> None:
        sink.context.offset({FIRST: 2})
        sink.context.request_commit()

    sink.plugin.on["put"] = [rewind_and_commit]
    sink.run(put_values(sink, *"abcde"))
    assert sink.group.commits[0] == {FIRST: 2}
    assert sink.calls("pre_commit")[0] == ("pre_commit", {FIRST: 2})


def test_a_rewind_ends_a_retry() -> None:
    sink = LocalSink()

    def rewind_and_retry(_: object) -> None:
        sink.context.offset({FIRST: 1})
        raise RetriableError

    sink.plugin.on["put"] = [rewind_and_retry]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a", "b"]
        sink.group.assign(FIRST)
        while len(sink.puts) < 2:
            yield

    sink.run(script)
    assert sink.puts == [["a", "b"], ["b"]]


def test_a_task_without_records_sleeps_and_puts_what_its_member_fetches() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        while not sink.group.watched:
            yield
        assert sink.clock.now > 1
        assert sink.group.watched == {FIRST: 0}
        for value in ("a", "b"):
            sink.log[FIRST] += [value]
            yield
            yield

    sink.run(script)
    assert sink.puts == [["a"], ["b"]]
    assert len(sink.streams) == 1
    assert not sink.group.watched
    assert sink.group.committed == {FIRST: 2}


@pytest.mark.parametrize("event", ["assign", "pause", "stop"])
def test_what_happens_to_a_sleeping_task_wakes_it(event: str) -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from asleep(sink)
        if event == "assign":
            sink.log[SECOND] += ["b"]
            sink.group.assign(SECOND)
        elif event == "pause":
            sink.task.transition(TargetState.PAUSED)
        else:
            sink.task.stop()
        for _ in range(4):
            yield

    sink.run(script)
    assert not sink.group.watched
    assert sink.puts == ([["a"], ["b"]] if event == "assign" else [["a"]])
    assert sink.states.seen[-1] is State.UNASSIGNED
