"""The time to the first record: of a process, of a source that is created, of a sink that runs."""

import statistics
import time
from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.contestants import Contestant, Running, sink, source
from benchmarks.measure import Deadline
from benchmarks.quantities import Quantity, Row, Sample
from benchmarks.workload import Format, LogFile, access_log

_SECONDS = 120.0
_LINES = 1000
_CREATED = 5
_POLL_SECONDS = 0.005


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


def sink_start_cell(bench: Bench, contestant: Contestant, form: Format, _: int) -> Iterator[Sample]:
    """Measure sinks from RUNNING to their first record: the first one of a worker, then others, one after the other."""
    with bench.new_topics(1) as (topic,), bench.worker(contestant, form) as worker:
        bench.topics.fill(topic, [form.encode("".join(access_log(_LINES, 1)).encode())])
        worker.wait_ready()
        yield Sample(Row(Quantity.SINK_FIRST, form, 1), contestant, _first_of_sink(bench, worker, topic))
        others = [_first_of_sink(bench, worker, topic) for _ in range(_CREATED)]
        yield Sample(Row(Quantity.SINK_FIRST_WARM, form, 1), contestant, statistics.median(others))


def _first_of_sink(bench: Bench, worker: Running, topic: str) -> float:
    name, output = bench.name("first-sink"), bench.path("first-output")
    worker.processes.settle()
    worker.create(sink(name, topic, output))
    Deadline(_SECONDS, f"{name} is RUNNING").wait(lambda: _runs(worker, name), _POLL_SECONDS)
    began = time.monotonic()
    Deadline(_SECONDS, f"{name} writes").wait(lambda: output.exists() and output.stat().st_size > 0, _POLL_SECONDS)
    seconds = time.monotonic() - began
    worker.delete(name)
    return seconds


def _runs(worker: Running, name: str) -> bool:
    return [task["state"] for task in worker.parts()[name][1:]] == ["RUNNING"]


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
