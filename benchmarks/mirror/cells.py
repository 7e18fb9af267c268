"""Cells of a process that mirrors a topic: its start, its throughput and costs, its latency."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from benchmarks.contestants import Contestant
from benchmarks.measure import InvalidCellError, Stopwatch
from benchmarks.mirror.bench import MirrorBench, SourceTopic
from benchmarks.mirror.records import Shape, stamp_of, stamped
from benchmarks.quantities import Quantity, Row, Sample, percentiles
from benchmarks.topics import Tail

_FEW = 1_000
_SEEN_SECONDS = 60.0
_SETTLING = 3  # one third more records before those that count
# With linger.ms of the producer: five thousand requests a second would keep a broker busier than mirroring does.
RATES = (
    (100, 0, Quantity.MIRROR_P50, Quantity.MIRROR_P99),
    (5_000, 5, Quantity.MIRROR_BUSY_P50, Quantity.MIRROR_BUSY_P99),
)


def start_cell(bench: MirrorBench, contestant: Contestant, shape: Shape) -> Iterator[Sample]:
    """Measure a process until the first of few records is on the target."""
    topic = bench.filled_topic(shape, _FEW)
    with bench.mirroring(contestant, topic) as mirroring:
        mirroring.await_records(1)
        seconds = mirroring.processes.age_seconds()
        mirroring.await_records(_FEW)
        bench.check(topic, mirroring.topic, _FEW)
        yield Sample(Row(Quantity.MIRROR_START, shape, topic.layout.tasks), contestant, seconds)


def bulk_cell(bench: MirrorBench, contestant: Contestant, shape: Shape) -> Iterator[Sample]:
    """Measure a process with a full topic: from its start until it is warm, then while it goes on."""
    parts, tasks = bench.effort.parts(shape.layout), shape.layout.tasks
    topic = bench.filled_topic(shape, parts.total)
    with bench.mirroring(contestant, topic) as mirroring:
        begun = mirroring.await_records(parts.cold)
        cold = begun / mirroring.processes.age_seconds()
        trees = (bench.source.processes, bench.target.processes, mirroring.processes)
        source, target, own = [Stopwatch(each) for each in trees]
        begun = mirroring.await_records(begun)  # once more: stopwatches take a moment
        ended = mirroring.await_records(min(begun + parts.warm, parts.total))
        window = own.stop()
        costs = {
            Quantity.MIRROR_CPU: window,
            Quantity.MIRROR_SOURCE_CPU: source.stop(),
            Quantity.MIRROR_TARGET_CPU: target.stop(),
        }
        if (moved := ended - begun) == 0:
            raise InvalidCellError(f"{parts.total} records are too few: all were mirrored before the clock ran")
        mirroring.await_records(parts.total)
        memory = mirroring.processes.peak_bytes()
        bench.check(topic, mirroring.topic, parts.total)
    yield Sample(Row(Quantity.MIRROR_COLD, shape, tasks), contestant, cold / 1e3)
    yield Sample(Row(Quantity.MIRROR_WARM, shape, tasks), contestant, moved / window.seconds / 1e3)
    for quantity, cost in costs.items():
        yield Sample(Row(quantity, shape, tasks), contestant, cost.cpu_seconds * 1e6 / moved)
    yield Sample(Row(Quantity.MIRROR_MEMORY, shape, tasks), contestant, memory / 1e6)


def latency_cell(bench: MirrorBench, contestant: Contestant, shape: Shape) -> Iterator[Sample]:
    """Measure records from a producer of the source to a consumer of the target, in a warm process."""
    number = bench.effort.parts(shape.layout).cold
    samples: list[Sample] = []
    with bench.new_topic(shape, number) as topic, bench.mirroring(contestant, topic) as mirroring:
        mirroring.await_records(number)
        with closing(bench.target.topics.tail(mirroring.topic, number)) as tail:
            for rate, linger_ms, half, most in RATES:
                wanted = rate * bench.effort.seconds
                settling = wanted // _SETTLING
                times = _times(bench, topic, tail, rate, linger_ms, settling + wanted)
                number += len(times)
                samples += percentiles(times[settling:], contestant, shape, topic.layout.tasks, half, most)
        bench.check(topic, mirroring.topic, number)
    yield from samples


def _times(bench: MirrorBench, topic: SourceTopic, tail: Tail, rate: int, linger_ms: int, count: int) -> list[float]:
    """Return the seconds of each of ``count`` records, sent at a rate by another thread."""
    topics = bench.source.topics
    with ThreadPoolExecutor(1, "sender") as threads:
        sending = threads.submit(topics.write, topic.name, stamped(count, rate), topics.producer(linger_ms))
        times = [_seconds_of(number, tail) for number in range(count)]
        sending.result()
    return times


def _seconds_of(number: int, tail: Tail) -> float:
    found, sent = stamp_of(tail.next_value(_SEEN_SECONDS))
    seconds = (time.monotonic_ns() - sent) / 1e9
    if found != number:
        raise InvalidCellError(f"record {found} came where {number} was expected")
    return seconds
