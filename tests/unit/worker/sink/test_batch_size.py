"""The size of a sink task's batches, in records that fit into bytes; the tasks are without brokers and Spark."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.expressions.offset_ranges import LEAST_TO_SPLIT
from connect_dagster.worker.bytes_bound import BatchTooLargeError, Measured, too_large
from connect_dagster.worker.sink.batch_size import BatchSize
from tests.unit.worker.sink.local_sink import FIRST, FITTING, RUN, LocalSink

MOST_RECORDS, MOST_BYTES = 200_000, 32 << 20
SMALL = Measured(bytes=2_000_000, records=20_000)


def test_the_first_batch_is_small_and_tells_the_size_of_the_next() -> None:
    for read, expected in ((SMALL, MOST_RECORDS), (Measured(6_400_000, 10_000), 52_428)):
        size = BatchSize(MOST_RECORDS, MOST_BYTES)
        size.grow(Measured(0, 0))
        assert size.records == LEAST_TO_SPLIT
        size.grow(read)
        assert size.records == expected
    assert BatchSize(500, MOST_BYTES).records == 500


def test_large_records_are_planned_for_half_of_the_bytes() -> None:
    size = BatchSize(MOST_RECORDS, MOST_BYTES)
    size.shrink(Measured(bytes=MOST_BYTES, records=320))
    assert size.records == 160


def test_many_records_are_planned_for_two_spark_tasks() -> None:
    size = BatchSize(MOST_RECORDS, MOST_BYTES)
    size.grow(SMALL)
    size.shrink(Measured(bytes=MOST_BYTES, records=1 << 15))
    assert size.records == 1 << 15


def test_a_batch_that_is_too_large_again_is_halved_at_least() -> None:
    """A Spark task that had all of the records reads more than records of the usual size make likely."""
    size = BatchSize(1000, MOST_BYTES)
    size.shrink(Measured(bytes=MOST_BYTES, records=MOST_RECORDS))
    assert size.records == 500


def test_a_batch_has_one_record_at_least() -> None:
    size = BatchSize(2, MOST_BYTES)
    for _ in range(3):
        size.shrink(Measured(bytes=10 * MOST_BYTES, records=2))
    assert size.records == 1


def test_batches_grow_where_four_times_as_many_records_fit() -> None:
    size = BatchSize(MOST_RECORDS, MOST_BYTES)
    size.shrink(Measured(bytes=MOST_BYTES, records=320))
    size.grow(Measured(bytes=MOST_BYTES, records=1000))
    assert size.records == 160
    size.grow(Measured(bytes=MOST_BYTES, records=2000))
    assert size.records == 1000
    size.grow(SMALL)
    assert size.records == MOST_RECORDS


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 1 << 40), st.integers(1, 1 << 20))))
def test_a_batch_is_never_empty_and_never_larger_than_it_may(steps: list[tuple[bool, int, int]]) -> None:
    size = BatchSize(500, MOST_BYTES)
    for grows, read, records in steps:
        (size.grow if grows else size.shrink)(Measured(read, records))
        assert 1 <= size.records <= 500


def test_the_error_of_a_spark_job_says_how_large_a_batch_is() -> None:
    cause = RuntimeError(f"[USER_RAISED_EXCEPTION] {BatchTooLargeError(Measured(700, 3))} SQLSTATE: P0001")
    error = RuntimeError("the put failed")
    error.__cause__ = cause
    found = too_large(error)
    assert found is not None
    assert found.read == Measured(700, 3)
    assert too_large(RuntimeError("the put failed")) is None


def test_a_batch_that_is_too_large_is_read_again_with_fewer_records() -> None:
    """Failed at ce718d3: the batch was held as a whole, and ended the JVM."""
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += [f"large{number}" for number in range(10)]
        sink.group.assign(FIRST)
        for _ in range(20):
            yield

    sink.run(script)
    put = [value for values in sink.puts for value in values]
    assert put == sink.log[FIRST]
    assert max(map(len, sink.puts)) <= FITTING
    assert sink.states.seen == RUN


def test_batches_grow_again_behind_large_records() -> None:
    sink = LocalSink()

    def script() -> Iterator[None]:
        sink.log[FIRST] += ["large"] * 10 + ["small"] * 1000
        sink.group.assign(FIRST)
        for _ in range(30):
            yield

    sink.run(script)
    assert [value for values in sink.puts for value in values] == sink.log[FIRST]
    assert len(sink.puts[-1]) > 900
