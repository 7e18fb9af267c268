"""How a put can end, and what brings its batch again. No brokers, no Spark, no waiting."""

import itertools
import traceback
from collections.abc import Iterator

import pytest

from connect_dagster.errors import ConnectError, DataError, RetriableError
from tests.unit.worker.sink.local_sink import (
    FAILED,
    FIRST,
    READ_TIMEOUT,
    RETRIABLE_JOB,
    RETRYING,
    RUN,
    TOLERANT,
    UNRECOVERABLE,
    LocalSink,
    put_values,
    raises,
    spark_failure,
    until_put,
    well,
)


def test_a_put_that_succeeds_moves_the_position() -> None:
    sink = LocalSink()
    sink.run(put_values(sink, "a", "b"))
    assert sink.puts == [["a", "b"]]
    assert sink.group.committed == {FIRST: 2}
    assert sink.states.seen == RUN
    assert sink.topics == [{"t"}]
    assert [call[0] for call in sink.plugin.calls] == ["start", "open", "put", "pre_commit", "close", "stop"]
    assert sink.group.closed


def test_a_put_is_four_frames_below_the_loop() -> None:
    sink = LocalSink()
    names: list[str] = []
    sink.plugin.on["put"] = [lambda _: names.extend(frame.name for frame in traceback.extract_stack())]
    sink.run(put_values(sink, "a"))
    between = names[names.index("_stream_on") + 1 : names.index("put")]
    assert between == ["_take_fetched", "_put", "run", "_put"]


def test_no_records_are_never_put() -> None:
    sink = LocalSink()
    sink.run(put_values(sink))
    assert sink.puts == []
    assert sink.group.commits == []


def test_a_retriable_error_brings_the_same_batch_after_the_default_time() -> None:
    sink = LocalSink()
    at: list[float] = []

    def retry(_: object) -> None:
        at.append(sink.clock.now)
        raise RetriableError("the table is locked")

    sink.plugin.on["put"] = [retry, retry, lambda _: at.append(sink.clock.now)]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a", "b"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 2)
        sink.log[FIRST] += ["c"]
        while len(sink.puts) < 4:
            yield

    sink.run(script)
    assert sink.puts == [["a", "b"]] * 3 + [["c"]]
    assert [round(after - before, 3) for before, after in itertools.pairwise(at)] == [1.0, 1.0]
    assert sink.counts()["total-retries"] == 2
    assert len(sink.streams) == 1
    assert sink.group.committed == {FIRST: 3}


def test_a_retriable_error_brings_the_same_batch_after_the_time_the_task_asked_for_once() -> None:
    sink = LocalSink()
    at: list[float] = []

    def retry_after_20_seconds(_: object) -> None:
        at.append(sink.clock.now)
        sink.context.timeout(20_000)
        raise RetriableError

    def retry(_: object) -> None:
        at.append(sink.clock.now)
        raise RetriableError

    sink.plugin.on["put"] = [retry_after_20_seconds, retry, lambda _: at.append(sink.clock.now)]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        while len(sink.puts) < 3:
            yield

    sink.run(script)
    assert [round(after - before, 3) for before, after in itertools.pairwise(at)] == [20.0, 1.0]


def test_the_group_hears_of_a_task_that_waits_for_a_retry() -> None:
    sink = LocalSink()
    polls = 0

    def retry(_: object) -> None:
        sink.context.timeout(10_000)
        raise RetriableError

    sink.plugin.on["put"] = [retry]

    def script() -> Iterator[None]:
        nonlocal polls
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield
        while len(sink.puts) < 2:
            polls += 1
            yield

    sink.run(script)
    assert polls >= 100, "ten times a second"


@pytest.mark.parametrize("kind", [ValueError, ConnectError, DataError, SystemError])
def test_any_other_error_of_a_put_fails_the_task(kind: type[Exception]) -> None:
    sink = LocalSink(TOLERANT)
    sink.plugin.on["put"] = [raises(kind("no such row"))]
    sink.run(put_values(sink, "a"))
    assert sink.states.seen == FAILED
    assert sink.states.traces[0].splitlines()[0] == UNRECOVERABLE
    assert "no such row" in sink.states.traces[0]
    assert sink.group.commits == [], "nothing was put"
    assert [call[0] for call in sink.plugin.calls][-2:] == ["close", "stop"]
    assert sink.queue.written == []


def test_what_was_put_before_a_failure_stays_committed() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [well, raises(ValueError("no such row"))]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a", "b"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 2)
        sink.log[FIRST] += ["c"]
        while True:
            yield

    sink.run(script)
    assert sink.states.seen == FAILED
    assert sink.group.committed == {FIRST: 2}


def test_the_first_batch_is_searched_for_its_schemas_and_the_next_is_expected_to_have_them() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        for count, value in enumerate("abc", 1):
            sink.log[FIRST].append(value)
            yield from until_put(sink, count)

    sink.run(script)
    assert sink.puts == [["a"], ["b"], ["c"]]
    assert sink.planner.searches == 1


def test_a_batch_with_another_schema_is_searched_and_put_once() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.group.assign(FIRST)
        for count, value in enumerate(("a", "other", "b"), 1):
            sink.log[FIRST].append(value)
            yield from until_put(sink, count)

    sink.run(script)
    assert sink.puts == [["a"], ["other"], ["b"]]
    assert sink.planner.searches == 2


def test_a_retried_batch_with_another_schema_is_searched_at_once() -> None:
    sink = LocalSink()
    sink.planner.knows_schema = True
    sink.plugin.on["put"] = [raises(RetriableError())]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["other"]
        sink.group.assign(FIRST)
        while len(sink.puts) < 2:
            yield

    sink.run(script)
    assert sink.puts == [["other"]] * 2
    assert sink.planner.searches == 2


def test_a_job_that_asks_for_a_retry_is_run_again() -> None:
    sink = LocalSink(RETRYING)
    sink.plugin.on["put"] = [raises(spark_failure(RETRIABLE_JOB))]
    sink.run(put_values(sink, "a"))
    assert sink.puts == [["a"], ["a"]]
    assert sink.states.seen == RUN
    assert sink.clock.now >= 0.3
    assert sink.counts() == {"total-record-failures": 1, "total-retries": 1}


def test_a_job_that_asks_for_retries_beyond_the_deadline_fails_the_task() -> None:
    sink = LocalSink(RETRYING)
    sink.plugin.on["put"] = [raises(spark_failure(RETRIABLE_JOB))] * 10

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        while True:
            yield

    sink.run(script)
    assert sink.states.seen == FAILED
    assert "the registry is away" in sink.states.traces[0]
    assert len(sink.puts) == 4, "0.3, 0.6 and the rest of a second later"


def test_a_job_is_not_run_again_without_a_retry_timeout() -> None:
    sink = LocalSink()
    sink.plugin.on["put"] = [raises(spark_failure(RETRIABLE_JOB))]
    sink.run(put_values(sink, "a"))
    assert sink.states.seen == FAILED
    assert len(sink.puts) == 1


def test_a_batch_whose_brokers_are_away_is_read_again_later() -> None:
    sink = LocalSink(TOLERANT)
    sink.plugin.on["put"] = [raises(spark_failure(READ_TIMEOUT))]

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        while len(sink.puts) < 2:
            yield

    sink.run(script)
    assert sink.states.seen == RUN
    assert sink.puts == [["a"], ["a"]]
    assert len(sink.streams) == 2
    assert sink.clock.now >= 0.1, "a tenth of a second later"
    assert sink.group.committed == {FIRST: 1}


def test_a_task_whose_brokers_are_away_reads_again_soon_and_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    """Failed: each attempt waited a second, a failure was noticed after another, and each warned."""
    sink = LocalSink()
    sink.plugin.on["put"] = [raises(spark_failure(READ_TIMEOUT))] * 4

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        while len(sink.puts) < 5:
            yield

    sink.run(script)
    assert [stream.started_at for stream in sink.streams] == [{FIRST: 0}] * 5
    assert 1.2 <= sink.clock.now < 4
    assert caplog.text.count("Lost the brokers, reading again from the last position: ") == 1


def test_an_error_of_the_consumer_fails_the_task() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["a"]
        sink.group.assign(FIRST)
        yield from until_put(sink, 1)
        raise ConnectError("The consumer group refuses this task")

    sink.run(script)
    assert sink.states.seen == FAILED
    assert sink.states.traces[0].startswith(
        "org.apache.kafka.connect.errors.ConnectException: The consumer group refuses this task"
    )
    assert sink.group.committed == {FIRST: 1}, "what was put is committed on the way out"
