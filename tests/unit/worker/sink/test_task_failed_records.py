"""Records that fail in the pipeline, and those that the task reports. No brokers, no Spark, no waiting."""

from collections.abc import Iterator

import pytest

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.records import SinkRecord, TopicPartition
from connect_dagster.plugin.schema import STRING_SCHEMA
from connect_dagster.worker.errors.policy import ErrorPolicy
from tests.unit.worker.sink.local_sink import (
    EXCEEDED,
    FAILED,
    FIRST,
    NONE,
    REPORTING,
    RUN,
    TOLERANT,
    UNRECOVERABLE,
    LocalSink,
    put_values,
    raises,
    spark_failure,
)


def test_a_record_that_cannot_be_read_fails_the_task_without_tolerance() -> None:
    sink = LocalSink(REPORTING)
    sink.run(put_values(sink, "a", "bad", "b", "bad again"))
    assert sink.states.seen == FAILED
    assert sink.states.traces[0].splitlines()[0] == EXCEEDED
    assert "no JSON" in sink.states.traces[0]
    assert [one.record.value for one in sink.queue.written] == [b"bad"]
    assert sink.counts() == {"total-record-errors": 1, "total-record-failures": 1}
    assert sink.group.commits == []


def test_records_that_cannot_be_read_are_skipped_with_tolerance() -> None:
    sink = LocalSink(TOLERANT)
    sink.run(put_values(sink, "a", "bad", "b", "bad again"))
    assert sink.states.seen == RUN
    assert sink.puts == [["a", "b"]]
    assert [one.record.value for one in sink.queue.written] == [b"bad", b"bad again"]
    assert sink.counts()["total-records-skipped"] == 2
    assert sink.group.committed == {FIRST: 4}


def test_records_that_make_the_plan_fail_are_found_and_skipped_with_tolerance() -> None:
    sink = LocalSink(TOLERANT)
    values = [f"v{number}" for number in range(100)]
    values[77], values[3] = "poison 77", "poison 3"
    sink.run(put_values(sink, *values))
    assert sink.states.seen == RUN
    assert sink.puts == [[value for value in values if not value.startswith("poison")]]
    assert [one.record.offset for one in sink.queue.written] == [3, 77]
    assert "poison: poison 3" in (sink.queue.written[0].failure.message or "")
    assert sink.group.committed == {FIRST: 100}


def test_poison_and_unreadable_records_of_one_batch_are_reported_together() -> None:
    sink = LocalSink(TOLERANT)
    sink.run(put_values(sink, "a", "poison", "bad", "b"))
    assert sink.puts == [["a", "b"]]
    assert [one.record.value for one in sink.queue.written] == [b"poison", b"bad"]
    assert sink.counts()["total-records-skipped"] == 2


def test_a_record_that_makes_the_plan_fail_fails_the_task_without_tolerance() -> None:
    sink = LocalSink(NONE)
    sink.run(put_values(sink, "a", "poison"))
    assert sink.states.seen == FAILED
    assert sink.states.traces[0].splitlines()[0] == UNRECOVERABLE
    assert "poison: poison" in sink.states.traces[0]


def test_a_put_that_fails_again_without_its_poison_fails_the_task() -> None:
    sink = LocalSink(TOLERANT)
    sink.plugin.on["put"] = [raises(ValueError("the disk is full"))]
    sink.run(put_values(sink, "a", "poison"))
    assert sink.states.seen == FAILED
    assert "the disk is full" in sink.states.traces[0]


def test_a_batch_without_its_poison_is_put_again_after_a_retriable_error() -> None:
    sink = LocalSink(TOLERANT)
    sink.plugin.on["put"] = [raises(RetriableError("later"))]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a", "poison", "b"]
        sink.group.assign(FIRST)
        while len(sink.puts) < 2:
            yield

    sink.run(script)
    assert sink.puts == [["a", "b"]] * 2
    assert [one.record.value for one in sink.queue.written] == [b"poison"], "reported once"
    assert sink.group.committed == {FIRST: 3}


def test_a_job_that_fails_for_no_record_fails_the_task_with_tolerance() -> None:
    sink = LocalSink(TOLERANT)
    sink.plugin.on["put"] = [raises(spark_failure("executor lost"))]
    sink.run(put_values(sink, "a", "b"))
    assert sink.states.seen == FAILED
    assert "executor lost" in sink.states.traces[0]
    assert sink.queue.written == []


def test_a_report_that_fails_fails_the_task() -> None:
    sink = LocalSink(TOLERANT)
    sink.queue.failure = OSError("no disk for the queue")
    sink.run(put_values(sink, "a", "bad"))
    assert sink.states.seen == FAILED
    assert "no disk for the queue" in sink.states.traces[0]
    assert sink.group.commits == []


def test_offsets_of_reports_are_committed_after_the_queue_has_them() -> None:
    sink = LocalSink(TOLERANT)
    sink.queue.before_flush = lambda: committed.append(dict(sink.group.committed))
    committed: list[dict[TopicPartition, int]] = []
    sink.run(put_values(sink, "bad"))
    assert committed == [{}]
    assert sink.group.committed == {FIRST: 1}


def test_offsets_are_not_committed_while_the_queue_has_not_taken_the_reports() -> None:
    sink = LocalSink(TOLERANT)
    sink.queue.before_flush = sink.task.cancel
    sink.run(put_values(sink, "bad"))
    assert sink.group.commits == []


def sink_record(value: str, offset: int) -> SinkRecord:
    return SinkRecord("t", 0, offset, None, value, None, STRING_SCHEMA, None)


def test_a_record_that_the_task_reports_goes_out_as_it_was_read() -> None:
    sink = LocalSink(TOLERANT)
    done = []
    sink.plugin.on["put"] = [
        lambda _: done.append(sink.context.errant_record_reporter.report(sink_record("B", 1), ValueError("too long")))
    ]
    sink.run(put_values(sink, "a", "b"))
    (letter,) = sink.queue.written
    assert (letter.record.value, letter.record.offset) == (b"b", 1)
    assert (letter.failure.stage, letter.failure.message) == ("TASK_PUT", "too long")
    assert done[0].done()
    assert sink.counts() == {"total-record-failures": 1}
    assert sink.group.committed == {FIRST: 2}


def test_a_record_of_another_batch_is_encoded_by_the_converters() -> None:
    sink = LocalSink(TOLERANT)
    sink.plugin.on["put"] = [
        lambda _: sink.context.errant_record_reporter.report(sink_record("later", 99), ValueError("too long"))
    ]
    sink.run(put_values(sink, "a"))
    assert [one.record.value for one in sink.queue.written] == [b"encoded later"]


@pytest.mark.parametrize("swallows", [False, True])
def test_a_report_fails_the_task_without_tolerance(swallows: bool) -> None:
    sink = LocalSink(REPORTING)

    def put(_: object) -> None:
        try:
            sink.context.errant_record_reporter.report(sink_record("a", 0), ValueError("too long"))
        except ConnectError:
            if not swallows:
                raise

    sink.plugin.on["put"] = [put]
    sink.run(put_values(sink, "a"))
    assert sink.states.seen == FAILED
    assert "Tolerance exceeded in error handler" in sink.states.traces[0]
    assert "too long" in sink.states.traces[0]
    assert [one.record.value for one in sink.queue.written] == [b"a"]
    assert sink.group.commits == []


def test_without_log_and_dead_letters_there_is_no_reporter() -> None:
    sink = LocalSink(ErrorPolicy(tolerate=True))
    assert sink.context.errant_record_reporter is None
