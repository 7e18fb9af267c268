"""Commits of a sink task, its start and its end. No brokers, no Spark, no waiting."""

import itertools
import threading
from collections.abc import Iterator

import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.protocol.states import State
from tests.unit.worker.sink.local_sink import (
    FIRST,
    RUN,
    SECOND,
    LocalSink,
    put_values,
    raises,
    refused,
    until_put,
    well,
)


def test_s1_39_offsets_are_committed_at_the_interval() -> None:
    sink = LocalSink(max_interval=2.0)
    at: list[float] = []

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        for number in range(4):
            sink.log[FIRST].append(str(number))
            commits = len(sink.group.commits)
            while len(sink.group.commits) == commits:
                yield
            at.append(sink.clock.now)

    sink.run(script)
    assert sink.group.committed == {FIRST: 4}
    between = [round(after - before, 9) for before, after in itertools.pairwise(at)]
    assert all(2.0 <= seconds < 2.5 for seconds in between), between


def test_s1_39_a_requested_commit_follows_the_put() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [lambda _: sink.context.request_commit()] * 3

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        for count, value in enumerate("abc", 1):
            sink.log[FIRST].append(value)
            yield from until_put(sink, count)

    sink.run(script)
    assert [call[0] for call in sink.calls("put", "pre_commit")] == ["put", "pre_commit"] * 3 + ["pre_commit"]
    assert sink.group.commits == [{FIRST: 1}, {FIRST: 2}, {FIRST: 3}]


def test_s1_39_a_commit_without_an_answer_is_given_up_and_made_later(caplog: pytest.LogCaptureFixture) -> None:
    sink = LocalSink(max_interval=1.0, timeout=1.0)
    sink.group.silent = True

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        while "Commit of offsets timed out" not in caplog.text:
            yield
        assert sink.group.committed == {}
        sink.group.silent = False
        while not sink.group.committed:
            yield

    sink.run(script)
    assert sink.group.committed == {FIRST: 1}
    assert sink.states.seen == RUN


def test_a_commit_that_is_refused_is_made_again(caplog: pytest.LogCaptureFixture) -> None:
    sink = LocalSink(max_interval=1.0)
    sink.group.refusals.append(refused())

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        while not sink.group.committed:
            yield

    sink.run(script)
    assert sink.group.commits == [{FIRST: 1}, {FIRST: 1}]
    assert "Commit of offsets failed, will be tried again" in caplog.text


def test_a_commit_that_is_refused_at_the_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    sink = LocalSink()
    sink.group.refusals.append(refused())
    sink.run(put_values(sink, "a"))
    assert sink.states.seen == RUN
    assert sink.group.committed == {}
    assert "Commit of offsets failed" in caplog.text


def test_fewer_offsets_of_pre_commit_are_committed() -> None:
    sink = LocalSink()
    sink.plugin.on["pre_commit"] = [lambda _: {FIRST: 1}]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a", "b"]
        sink.log[SECOND] += ["c"]
        sink.group.assign(FIRST, SECOND)
        yield
        sink.task.stop()

    sink.run(script)
    assert sink.group.commits == [{FIRST: 1}]


def test_offsets_of_pre_commit_that_were_not_put_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    sink = LocalSink()
    sink.plugin.on["pre_commit"] = [lambda _: {FIRST: 9, SECOND: 1}]
    sink.run(put_values(sink, "a"))
    assert sink.group.commits == []
    assert "Ignoring invalid task provided offset t-0/9 -- not yet consumed or not assigned" in caplog.text
    assert "Ignoring invalid task provided offset t-1/1" in caplog.text


def test_a_failed_flush_goes_back_to_the_last_commit(caplog: pytest.LogCaptureFixture) -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [lambda _: sink.context.request_commit()] * 2
    sink.plugin.on["pre_commit"] = [well, raises(OSError("the disk is full"))]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a", "b"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 2)
        sink.log[FIRST] += ["c", "d"]
        while len(sink.puts) < 3:
            yield

    sink.run(script)
    assert sink.puts == [["a", "b"], ["c", "d"], ["c", "d"]]
    assert sink.group.committed == {FIRST: 4}
    assert "Offset commit failed, rewinding to last committed offsets" in caplog.text
    assert sink.states.seen == RUN


def test_a_failed_flush_at_the_end_commits_nothing(caplog: pytest.LogCaptureFixture) -> None:
    sink = LocalSink()
    sink.plugin.on["pre_commit"] = [raises(OSError("the disk is full"))]
    sink.run(put_values(sink, "a"))
    assert sink.group.commits == []
    assert "Offset commit failed during close" in caplog.text
    assert sink.states.seen == RUN


def test_a_start_that_fails_fails_the_task_and_leaves_the_group() -> None:
    sink = LocalSink()
    sink.plugin.on["start"] = [raises(ConnectError("wrong password"))]
    sink.run(put_values(sink))
    assert sink.states.seen == [State.FAILED]
    assert [call[0] for call in sink.plugin.calls] == ["start", "stop"]
    assert sink.group.closed
    assert sink.queue.closed


def test_an_error_after_a_stop_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    sink = LocalSink()

    def stop_and_raise(_: object) -> None:
        sink.task.stop()
        raise ValueError("no such row")

    sink.plugin.on["put"] = [stop_and_raise]
    sink.run(put_values(sink, "a"))
    assert sink.states.seen == RUN
    assert "After being scheduled for shutdown, task threw an uncaught exception." in caplog.text


def test_a_task_that_is_abandoned_leaves_its_group_and_reports_nothing_more() -> None:
    sink = LocalSink()
    seen: list[bool] = []

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield

    def abandoned_by_another_thread(_: object) -> None:
        other = threading.Thread(target=sink.task.cancel)
        other.start()
        other.join()
        seen.append(sink.group.abandoned)

    sink.plugin.on["put"] = [abandoned_by_another_thread]
    sink.run(script)
    assert seen == [True]
    assert sink.spark.cancelled == ["c-0"]
    assert sink.states.seen == [State.RUNNING]
