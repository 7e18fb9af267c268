"""Every way a poll, a delivery and a commit of a source task can end. No brokers, no Spark, no waiting."""

from collections.abc import Iterator

import pytest

from connect_dagster.errors import ConnectError, DataError, RetriableError, RewindError
from connect_dagster.protocol.states import State, TargetState
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.record_frames import Polled
from connect_dagster.worker.source.transaction_ends import EachPoll, End, RequestedEnds
from tests.unit.worker.source.local_source import (
    FAILED,
    NONE,
    PLACE,
    REPORTING,
    RETRYING,
    RUN,
    TOLERANT,
    LocalSource,
    frame,
)

CONNECT_EXCEPTION = "org.apache.kafka.connect.errors.ConnectException"


def raising(error: Exception) -> Iterator[Polled]:
    yield from ()
    raise error


# Polls


def test_polled_records_are_sent_acknowledged_and_committed() -> None:
    source = LocalSource()
    source.run(lambda: iter([frame(2, "a", "b"), [frame(3, "c"), frame(4, "d")]]))
    assert source.producer.sent == [[b"a", b"b"], [b"c"], [b"d"]]
    assert [one.source_offset for one in source.plugin.acknowledged] == [{"position": n} for n in (2, 3, 4)]
    assert source.offsets.saved == [[(PLACE, {"position": 4})]]
    assert source.topics == [{"t"}] * 3
    assert source.plugin.calls == ["start", "commit", "stop"]
    assert source.states.seen == RUN
    assert source.producer.closed
    assert source.offsets.closed


@pytest.mark.parametrize("late", [True, False])
def test_a_task_may_poll_only_what_spark_can_take(late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    source = LocalSource()
    source.producer.encoding = 3
    polls: list[int] = []
    monkeypatch.setattr(type(source.plugin), "polls_late", late)

    def script() -> Iterator[Polled]:
        polls.append(source.producer.encoding)
        yield frame(1, "a")

    source.run(script)
    assert polls == [-1 if late else 3]
    assert source.producer.sent == [[b"a"]]


@pytest.mark.parametrize("nothing", [None, ()])
def test_a_poll_of_nothing_sends_nothing_and_rests(nothing: Polled) -> None:
    source = LocalSource()
    source.run(lambda: iter([nothing] * 10))
    assert source.producer.sent == []
    assert source.offsets.saved == []
    assert source.clock.now == pytest.approx(0.2), "a fiftieth of a second each"


def test_a_task_may_read_its_configuration_again() -> None:
    source = LocalSource()
    source.run(lambda: iter(()))
    assert source.plugin.context.configs() == {"password": "new"}


def test_a_retriable_poll_is_polled_again(caplog: pytest.LogCaptureFixture) -> None:
    source = LocalSource()
    polls: list[Polled | Exception] = [RetriableError("no leader"), frame(1, "a")]

    def poll() -> Polled:
        if not polls:
            source.task.stop()
            return None
        polled = polls.pop(0)
        if isinstance(polled, Exception):
            raise polled
        return polled

    source.plugin.poll = poll  # type: ignore[method-assign]
    source.run(lambda: iter(()))
    assert source.producer.sent == [[b"a"]]
    assert source.counts()["total-retries"] == 1
    assert "failed to poll records. Will retry." in caplog.text
    assert source.states.seen == RUN


@pytest.mark.parametrize(
    ("error", "first"),
    [
        (ValueError("the database is away"), f"{CONNECT_EXCEPTION}: the database is away"),
        (ConnectError("no such table"), f"{CONNECT_EXCEPTION}: no such table"),
        (DataError("no such type"), "org.apache.kafka.connect.errors.DataException: no such type"),
        (SystemError("broken"), f"{CONNECT_EXCEPTION}: broken"),
    ],
)
def test_a_poll_that_raises_fails_the_task(error: Exception, first: str) -> None:
    source = LocalSource(TOLERANT)
    source.run(lambda: raising(error))
    assert source.states.seen == FAILED
    assert source.states.traces[0].splitlines()[0] == first
    assert source.plugin.calls == ["start", "commit", "stop"]
    assert source.producer.closed


def test_what_was_acknowledged_before_a_failure_is_committed() -> None:
    source = LocalSource()

    def script() -> Iterator[Polled]:
        yield frame(1, "a")
        raise ValueError("the database is away")

    source.run(script)
    assert source.states.seen == FAILED
    assert source.offsets.saved == [[(PLACE, {"position": 1})]]


def test_an_error_of_a_poll_after_a_stop_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    source = LocalSource()

    def script() -> Iterator[Polled]:
        yield frame(1, "a")
        source.task.stop()
        raise ValueError("the connection is closed")

    source.run(script)
    assert source.states.seen == RUN
    assert "After being scheduled for shutdown, task threw an uncaught exception." in caplog.text
    assert source.offsets.saved == [[(PLACE, {"position": 1})]]


# Transactions


def test_a_poll_is_a_transaction_however_many_batches_it_has() -> None:
    source = LocalSource(ends=EachPoll())
    source.run(lambda: iter([[frame(1, "a"), frame(2, "b")], [], frame(3, "c")]))
    assert source.producer.sent == [[b"a"], [b"b"], [b"c"]]
    assert source.producer.ends == [None, End.COMMIT, End.COMMIT]
    assert source.plugin.context.transaction_context is None


def test_the_task_ends_its_transactions() -> None:
    source = LocalSource(ends=RequestedEnds())

    def script() -> Iterator[Polled]:
        context = source.plugin.context.transaction_context
        assert context is not None
        polled = [frame(1, "a"), frame(2, "b"), frame(3, "c")]
        context.abort_transaction(polled[0])
        context.commit_transaction(polled[1])
        yield polled
        context.commit_transaction()
        yield []
        last = frame(4, "d")
        context.commit_transaction(last)
        context.abort_transaction()
        yield last
        context.commit_transaction()

    source.run(script)
    assert source.producer.sent == [[b"a"], [b"b"], [b"c"], [], [b"d"], [], []]
    c = End.COMMIT
    assert source.producer.ends == [End.ABORT, c, None, c, c, End.ABORT, c]


def test_a_failed_task_ends_no_transaction() -> None:
    source = LocalSource(ends=RequestedEnds())

    def script() -> Iterator[Polled]:
        context = source.plugin.context.transaction_context
        assert context is not None
        context.commit_transaction()
        yield from raising(ValueError("the database is away"))

    source.run(script)
    assert source.states.seen == FAILED
    assert source.producer.ends == []


@pytest.mark.parametrize(("error", "finishing"), [(None, True), (ValueError("the database is away"), False)])
def test_a_failed_task_commits_no_open_transaction(error: Exception | None, finishing: bool) -> None:
    """Failed: half of a poll was committed. Java: ``ExactlyOnceWorkerSourceTask.finalOffsetCommit``."""
    source = LocalSource(transactional=True)

    def script() -> Iterator[Polled]:
        yield frame(1, "a")
        if error is not None:
            yield from raising(error)

    source.run(script)
    assert source.states.seen == (RUN if error is None else FAILED)
    assert source.producer.finishing == [finishing]


def test_offsets_that_are_in_transactions_are_not_the_committers() -> None:
    """Failed: the plugin heard of a commit at each interval, while its records were in an open transaction."""
    source = LocalSource(transactional=True)
    source.producer.held = True
    calls: list[list[str]] = []

    def script() -> Iterator[Polled]:
        yield frame(1, "a")
        assert not source.task.commit_offsets()
        yield None
        calls.append([*source.plugin.calls])
        source.producer.acknowledge()
        yield None
        calls.append([*source.plugin.calls])

    source.run(script)
    assert calls == [["start"], ["start", "commit"]]
    assert source.offsets.saved == []


# Records that are dropped or fail


def test_the_offset_of_records_that_a_transform_drops_is_committed() -> None:
    source = LocalSource()
    source.run(lambda: iter([frame(3, "drop 1", "a", "drop 2"), frame(4, "drop 3")]))
    assert source.producer.sent == [[b"a"], []]
    assert source.topics == [{"t"}, set()]
    assert source.offsets.saved == [[(PLACE, {"position": 4})]]


def test_records_that_cannot_be_written_are_skipped_with_tolerance() -> None:
    source = LocalSource(TOLERANT)
    source.run(lambda: iter([frame(3, "a", "bad", "b")]))
    assert source.producer.sent == [[b"a", b"b"]]
    assert [one.record.value for one in source.queue.written] == [b"bad"]
    assert source.counts()["total-records-skipped"] == 1
    assert source.offsets.saved == [[(PLACE, {"position": 3})]]
    assert source.states.seen == RUN


def test_a_record_that_cannot_be_written_fails_the_task_without_tolerance() -> None:
    source = LocalSource(REPORTING)
    source.run(lambda: iter([frame(1, "a"), frame(3, "bad", "bad again"), frame(4, "never sent")]))
    assert source.states.seen == FAILED
    assert source.states.traces[0].splitlines()[0] == f"{CONNECT_EXCEPTION}: Tolerance exceeded in error handler"
    assert "no JSON" in source.states.traces[0]
    assert [one.record.value for one in source.queue.written] == [b"bad"]
    assert source.producer.sent == [[b"a"]]
    assert source.offsets.saved == [[(PLACE, {"position": 1})]]


def test_the_offset_of_a_report_is_committed_after_the_queue_has_it() -> None:
    source = LocalSource(TOLERANT)
    saved: list[int] = []
    source.queue.before_flush = lambda: saved.append(len(source.offsets.saved))
    source.run(lambda: iter([frame(1, "bad")]))
    assert saved == [0]
    assert len(source.offsets.saved) == 1


def test_offsets_are_not_committed_when_a_report_was_given_up() -> None:
    source = LocalSource(TOLERANT)
    source.queue.before_flush = source.task.cancel
    source.run(lambda: iter([frame(1, "bad")]))
    assert source.offsets.saved == []


def test_a_report_that_fails_fails_the_task() -> None:
    source = LocalSource(TOLERANT)
    source.queue.failure = OSError("no disk for the queue")
    source.run(lambda: iter([frame(1, "bad"), frame(2, "a")]))
    assert source.states.seen == FAILED
    assert source.offsets.saved == []


# Plugins that may work later


def raises(error: Exception) -> None:
    raise error


def test_a_plan_that_may_work_later_is_made_again() -> None:
    source = LocalSource(RETRYING)
    source.batches.on_plan = [lambda: raises(RetriableError("the registry is away"))] * 2 + [lambda: None]
    source.run(lambda: iter([frame(1, "a")]))
    assert source.producer.sent == [[b"a"]]
    assert source.counts() == {"total-record-failures": 2, "total-retries": 2}
    assert source.clock.now == pytest.approx(0.9)


def test_after_the_time_for_retries_the_error_counts() -> None:
    source = LocalSource(RETRYING)
    source.batches.on_plan = [lambda: raises(RetriableError("the registry is away"))] * 20
    source.run(lambda: iter([frame(1, "a")]))
    assert source.states.seen == FAILED
    assert "the registry is away" in source.states.traces[0]
    assert source.counts()["total-retries"] == 3


def test_a_stop_while_a_plan_is_retried_ends_at_once_and_commits_nothing() -> None:
    source = LocalSource(ErrorPolicy(retry_timeout_ms=-1, retry_delay_max_ms=600_000))

    def stop_and_raise() -> None:
        source.task.stop()
        raise RetriableError("the registry is away")

    source.batches.on_plan = [stop_and_raise]
    source.run(lambda: iter([frame(1, "a")]))
    assert source.states.seen == RUN
    assert source.producer.sent == []
    assert source.offsets.saved == []


def test_records_that_could_not_be_read_are_read_again_as_the_source_says(caplog: pytest.LogCaptureFixture) -> None:
    source = LocalSource()
    source.plugin.rereads = [2.0, 3.0]
    source.batches.on_encode = [lambda: raises(OSError("the file server is away"))] * 2
    source.run(lambda: iter([frame(1, "a")]))
    assert source.producer.sent == [[b"a"]]
    assert source.clock.now >= 5
    assert source.counts()["total-retries"] == 2
    assert "Records could not be read, will be read again: the file server is away" in caplog.text


def test_a_source_goes_back_to_read_what_can_be_read() -> None:
    source = LocalSource()
    source.batches.on_encode = [lambda: raises(RewindError("a broker is away"))]
    source.run(lambda: iter([[frame(1, "a"), frame(2, "b")], frame(3, "c")]))
    assert source.plugin.calls.count("rewind") == 1
    assert source.producer.sent == [[b"c"]], "those after it are dropped as well"
    assert source.states.seen == RUN


def test_a_stop_while_records_are_read_again_is_no_failure() -> None:
    source = LocalSource()
    source.plugin.rereads = [60.0]

    def stop_and_raise() -> None:
        source.task.stop()
        raise OSError("the file server is away")

    source.batches.on_encode = [stop_and_raise]
    source.run(lambda: iter([frame(1, "a")]))
    assert source.states.seen == RUN
    assert source.producer.sent == []


def test_records_that_the_source_does_not_read_again_fail_the_task() -> None:
    source = LocalSource()
    source.batches.on_encode = [lambda: raises(OSError("the file is gone"))]
    source.run(lambda: iter([frame(1, "a"), frame(2, "b")]))
    assert source.states.seen == FAILED
    assert "the file is gone" in source.states.traces[0]
    assert source.offsets.saved == []


# Delivery


def test_a_record_that_kafka_rejects_fails_the_task_without_tolerance() -> None:
    source = LocalSource()
    source.producer.rejected = {b"too large"}
    source.run(lambda: iter([frame(1, "a"), frame(2, "too large"), frame(3, "never sent")]))
    assert source.states.seen == FAILED
    assert "Unrecoverable exception from producer send callback" in source.states.traces[0]
    assert source.producer.sent == [[b"a"]]
    assert source.offsets.saved == [[(PLACE, {"position": 1})]]
    assert source.counts()["total-record-errors"] == 1


def test_a_record_that_kafka_rejects_is_reported_with_tolerance(caplog: pytest.LogCaptureFixture) -> None:
    source = LocalSource(TOLERANT)
    source.producer.rejected = {b"too large"}
    source.run(lambda: iter([frame(3, "a", "too large", "b")]))
    assert source.producer.sent == [[b"a", b"b"]]
    (letter,) = source.queue.written
    assert (letter.failure.stage, letter.record.value) == ("KAFKA_PRODUCE", b"too large")
    assert letter.record.source_offset == '{"position":3}'
    assert source.offsets.saved == [[(PLACE, {"position": 3})]]
    assert source.counts() == {"total-record-failures": 1}
    assert "failed to send record" in caplog.text


def test_a_failure_of_the_producer_fails_the_task() -> None:
    source = LocalSource()

    def script() -> Iterator[Polled]:
        yield frame(1, "a")
        source.producer.failure = ConnectError("no such topic, and it cannot be created")
        yield frame(2, "b")

    source.run(script)
    assert source.states.seen == FAILED
    assert "no such topic, and it cannot be created" in source.states.traces[0]


def test_s1_46_what_is_not_acknowledged_is_not_committed(caplog: pytest.LogCaptureFixture) -> None:
    source = LocalSource()

    def script() -> Iterator[Polled]:
        yield frame(1, "a")
        source.producer.held = True
        yield frame(2, "b")
        source.task.commit_offsets()

    source.run(script)
    assert source.producer.sent == [[b"a"], [b"b"]]
    assert source.offsets.saved == [[(PLACE, {"position": 1})]]
    assert source.producer.drained == [5.0]
    assert "records were not acknowledged within 5000 ms" in caplog.text


def test_a_failure_of_delivered_fails_the_task_and_keeps_the_offset_for_the_commit() -> None:
    source = LocalSource()

    def fail(_: object) -> None:
        raise ValueError("cannot delete the file")

    source.plugin.delivered = fail  # type: ignore[assignment,method-assign]
    source.run(lambda: iter([frame(1, "a")]))
    assert source.states.seen == FAILED
    assert "cannot delete the file" in source.states.traces[0]
    assert source.offsets.saved == [[(PLACE, {"position": 1})]], "its records are acknowledged"


# Commits


def test_offsets_are_committed_in_their_order_and_the_latest_of_each_place() -> None:
    source = LocalSource()
    other = {"file": "b"}
    commits: list[bool] = []

    def script() -> Iterator[Polled]:
        yield frame(1, "a")
        yield frame(7, "x", place=other)
        yield frame(2, "b")
        commits.append(source.task.commit_offsets())
        yield frame(3, "c")
        commits.append(source.task.commit_offsets())
        commits.append(source.task.commit_offsets())

    source.run(script)
    assert source.offsets.saved == [
        [(PLACE, {"position": 2}), (other, {"position": 7})],
        [(PLACE, {"position": 3})],
    ]
    assert commits == [True, True, False]


def test_a_commit_that_fails_is_made_again_with_what_came_since() -> None:
    source = LocalSource()
    source.offsets.failures = [OSError("the topic is away")]

    def script() -> Iterator[Polled]:
        yield frame(1, "a")
        with pytest.raises(OSError, match="the topic is away"):
            source.task.commit_offsets()
        yield frame(2, "b")

    source.run(script)
    assert source.offsets.saved == [[(PLACE, {"position": 2})]]
    assert source.states.seen == RUN


def test_a_commit_that_fails_at_the_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    source = LocalSource()
    source.offsets.failures = [OSError("the topic is away")] * 2
    source.run(lambda: iter([frame(1, "a")]))
    assert source.states.seen == RUN
    assert "Failed to commit offsets, a restart sends records again" in caplog.text


def test_a_failure_of_the_plugins_commit_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    source = LocalSource()
    source.plugin.on["commit"] = [ValueError("cannot tell the database")]
    source.run(lambda: iter([frame(1, "a")]))
    assert source.states.seen == RUN
    assert "Exception thrown while calling task.commit()" in caplog.text


# Life cycle


def test_a_paused_task_polls_nothing_until_it_is_resumed() -> None:
    source = LocalSource()
    source.task.transition(TargetState.PAUSED)
    rests = 0

    def resume(*_: object) -> None:
        nonlocal rests
        rests += 1
        if rests == 3:
            source.task._target = TargetState.STARTED

    source.clock.wait = resume  # type: ignore[assignment,method-assign]
    source.run(lambda: iter([frame(1, "a")]))
    assert source.producer.sent == [[b"a"]]
    assert source.states.seen == [State.PAUSED, State.RUNNING, State.UNASSIGNED]
    assert rests >= 3


def test_a_start_that_fails_fails_the_task() -> None:
    source = LocalSource()
    source.plugin.on["start"] = [ConnectError("wrong password")]
    source.run(lambda: iter([frame(1, "a")]))
    assert source.states.seen == [State.FAILED]
    assert source.plugin.calls == ["start", "stop"]
    assert source.producer.closed
    assert source.offsets.closed


def test_a_producer_that_cannot_be_opened_fails_the_task() -> None:
    source = LocalSource()
    source.producer_failure = ConnectError("Unknown topic compression")
    source.run(lambda: iter([frame(1, "a")]))
    assert source.states.seen == [State.FAILED]
    assert "Unknown topic compression" in source.states.traces[0]
    assert source.plugin.calls == ["stop"]


def test_a_plugin_that_cannot_be_stopped_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    source = LocalSource(NONE)
    source.plugin.on["stop"] = [ValueError("still busy")]
    source.run(lambda: iter([frame(1, "a")]))
    assert source.states.seen == RUN
    assert "Could not stop task" in caplog.text


def test_an_abandoned_task_commits_nothing_more() -> None:
    source = LocalSource()

    def script() -> Iterator[Polled]:
        yield frame(1, "a")
        source.task.cancel()
        yield frame(2, "b")

    source.run(script)
    assert source.offsets.saved == [[(PLACE, {"position": 1})]]
    assert source.states.seen == [State.RUNNING]
