"""The time to the first record: after the start of the process, and after the creation of a connector."""

import statistics
import time
from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.contestants import Contestant, Running, source
from benchmarks.quantities import Quantity, Row, Sample
from benchmarks.workload import Format, LogFile, access_log

_SECONDS = 120.0
_LINES = 1000
_CREATED = 5


def start_cell(bench: Bench, contestant: Contestant, form: Format, _: int) -> Iterator[Sample]:
    """Measure a worker with one connector on its command line; then more connectors, one after the other."""
    file = _small_log(bench)
    with bench.new_topics(1) as (topic,):
        first = {**source(bench.name("first"), file.path, topic), **contestant.source_props}
        tail = bench.topics.tail(topic)
        with bench.worker(contestant, form, [first]) as worker:
            tail.await_value(b"HTTP/1.1", _SECONDS)
            yield Sample(Row(Quantity.START, form, 1), contestant, worker.processes.age_seconds())
            tail.close()
            worker.wait_ready()
            created = [_create(bench, worker, file) for _ in range(_CREATED)]
            yield Sample(Row(Quantity.CREATE, form, 1), contestant, statistics.median(created))


def _create(bench: Bench, worker: Running, file: LogFile) -> float:
    worker.processes.settle()
    name = bench.name("created")
    with bench.new_topics(1) as (topic,):
        tail = bench.topics.tail(topic)
        began = time.monotonic()
        worker.create(source(name, file.path, topic))
        seconds = tail.await_value(b"HTTP/1.1", _SECONDS) - began
        tail.close()
        worker.delete(name)
    return seconds


def _small_log(bench: Bench) -> LogFile:
    path = bench.path("small-log")
    path.write_text("".join(access_log(_LINES, 1)))
    return LogFile(path, _LINES)
