"""Single lines and records: the time until the other side sees them."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from benchmarks.bench import Bench
from benchmarks.contestants import Contestant, Running, sink
from benchmarks.measure import InvalidCellError
from benchmarks.quantities import Quantity, Row, Sample, percentiles
from benchmarks.throughput import sink_round, source_round, warm_up
from benchmarks.topics import Tail, Topics
from benchmarks.workload import Format, access_log

_SEEN_SECONDS = 60.0
_DISCARDED = 5
_FILE_POLL_SECONDS = 0.0005
# Pauses of random length between samples, so that they meet every phase of a polling worker.
_ALONE_PAUSE, _BUSY_PAUSE, _QUIET_PAUSE = (0.05, 1.0), (0.05, 0.3), (5.0, 6.0)
# Longer than our sinks keep a query that has nothing to read.
_SINK_QUIET_PAUSE = (11.0, 12.0)
_QUIET_SHARE, _SINK_QUIET_SHARE = 20, 33
_BULK_POLL_SECONDS = 0.1


def latency_cell(bench: Bench, contestant: Contestant, form: Format, tasks: int) -> Iterator[Sample]:
    """Measure a line's latency in a warm worker: alone, after idle time, with bulk tasks; then a sink's."""
    samples = bench.effort.samples
    with bench.worker(contestant, form) as worker:
        worker.wait_ready()
        warm_up(bench, worker, form, tasks, source_round)
        with bench.new_topics(1) as topics:
            line = LineProbe(bench, worker, topics[0])
            line.times(_DISCARDED, _ALONE_PAUSE)
            alone = line.times(samples, _ALONE_PAUSE)
            yield from percentiles(alone, contestant, form, 1, Quantity.LINE_P50, Quantity.LINE_P99)
            quiet = line.times(max(1, samples // _QUIET_SHARE), _QUIET_PAUSE)
            yield from percentiles(quiet, contestant, form, 1, Quantity.LINE_QUIET_P50)
            with BulkLoad(bench, worker, tasks) as bulk:
                line.times(_DISCARDED, _BUSY_PAUSE)
                bulk.begin_count()
                busy = line.times(samples, _BUSY_PAUSE)
                rate = bulk.rate()
            yield from percentiles(busy, contestant, form, tasks + 1, Quantity.LINE_BUSY_P50, Quantity.LINE_BUSY_P99)
            yield Sample(Row(Quantity.LINE_BUSY_RATE, form, tasks + 1), contestant, rate / 1e3)
            line.close()


def sink_latency_cell(bench: Bench, contestant: Contestant, form: Format, tasks: int) -> Iterator[Sample]:
    """Measure the latency of a record on its way to a file, in a worker whose sinks are warm."""
    bench.filled_topics(form, tasks)
    with bench.worker(contestant, form) as worker, bench.new_topics(1) as topics:
        worker.wait_ready()
        warm_up(bench, worker, form, tasks, sink_round)
        record = RecordProbe(bench, worker, topics[0], form)
        record.times(_DISCARDED, _ALONE_PAUSE)
        times = record.times(bench.effort.samples, _ALONE_PAUSE)
        yield from percentiles(times, contestant, form, 1, Quantity.RECORD_P50, Quantity.RECORD_P99)
        quiet = record.times(max(1, bench.effort.samples // _SINK_QUIET_SHARE), _SINK_QUIET_PAUSE)
        yield from percentiles(quiet, contestant, form, 1, Quantity.RECORD_QUIET_P50)


class Probe:
    """A sender of marked lines, one at a time.

    Args:
        send_and_wait: sends the bytes of a line; answers when it came out, by the monotonic clock.
    """

    def __init__(self, send_and_wait: Callable[[bytes, bytes], float]) -> None:
        self._send_and_wait = send_and_wait
        self._chance = random.Random(1)
        self._sent = 0

    def times(self, count: int, pause: tuple[float, float]) -> list[float]:
        """Return the seconds of each of ``count`` lines, sent after random pauses."""
        return [self._once(self._chance.uniform(*pause)) for _ in range(count)]

    def _once(self, pause: float) -> float:
        (text,) = access_log(1, self._sent)
        self._sent += 1
        mark = f"probe-{self._sent:06}".encode()
        time.sleep(pause)
        began = time.monotonic()
        return self._send_and_wait(text.rstrip().encode() + b" " + mark, mark) - began


class LineProbe(Probe):
    """Lines appended to a file that a source reads, seen by a consumer of its topic."""

    def __init__(self, bench: Bench, worker: Running, topic: str) -> None:
        super().__init__(self._append)
        self._tail: Tail = bench.topics.tail(topic)
        path = bench.path("probed-log")
        self._file = path.open("ab", buffering=0)
        self._worker = worker
        worker.create(worker.source(bench.name("probed"), path, topic))

    def close(self) -> None:
        """Stop reading and writing."""
        self._tail.close()
        self._file.close()

    def _append(self, line: bytes, mark: bytes) -> float:
        self._file.write(line + b"\n")
        try:
            return self._tail.await_value(mark, _SEEN_SECONDS)
        except InvalidCellError:
            self._worker.check()
            raise


class RecordProbe(Probe):
    """Records written to a topic that a sink reads, seen by the growth of its file."""

    def __init__(self, bench: Bench, worker: Running, topic: str, form: Format) -> None:
        super().__init__(self._write)
        self._topics: Topics = bench.topics
        self._producer = bench.topics.producer()
        self._topic, self._form = topic, form
        self._output: Path = bench.path("probed-output")
        self._expected = 0
        worker.create(sink(bench.name("probed"), topic, self._output))

    def _write(self, line: bytes, _: bytes) -> float:
        self._expected += len(line) + 1
        self._topics.send(self._producer, self._topic, self._form.encode(line + b"\n").removesuffix(b"\n"))
        deadline = time.monotonic() + _SEEN_SECONDS
        while not self._output.exists() or self._output.stat().st_size < self._expected:
            if time.monotonic() > deadline:
                raise InvalidCellError(f"a record is not in the sink's file after {_SEEN_SECONDS:g} s")
            time.sleep(_FILE_POLL_SECONDS)
        return time.monotonic()


class BulkLoad:
    """Connectors of one worker that stay busy: each reads the whole log, and is replaced when it has finished.

    Args:
        bench: the place.
        worker: whose connectors.
        tasks: how many, with one task each.
    """

    def __init__(self, bench: Bench, worker: Running, tasks: int) -> None:
        self._bench = bench
        self._worker = worker
        self._file = bench.workload.files(1)[0]
        self._topics = [bench.name("bulk") for _ in range(tasks)]
        self._connectors: dict[str, str] = {}
        self._ending = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._replace_finished, name="bulk-load", daemon=True)
        self._counted_from = (0.0, 0)

    def begin_count(self) -> None:
        """Count moved records from now on."""
        self._counted_from = (time.monotonic(), self._moved())

    def rate(self) -> float:
        """Return records per second since `begin_count`.

        Raises:
            InvalidCellError: a connector could not be replaced.
        """
        if self._error is not None:
            raise InvalidCellError(f"the bulk load ended: {self._error}")
        began, moved = self._counted_from
        return (self._moved() - moved) / (time.monotonic() - began)

    def __enter__(self) -> Self:
        self._bench.topics.create(self._topics)
        for topic in self._topics:
            self._start(topic)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()
        for name in self._connectors.values():
            self._worker.delete(name)
        self._bench.topics.delete(self._topics)

    def _start(self, topic: str) -> None:
        name = self._bench.name("bulk-source")
        self._worker.create(self._worker.source(name, self._file.path, topic))
        self._connectors[topic] = name

    def _replace_finished(self) -> None:
        goals = dict.fromkeys(self._topics, self._file.lines)
        try:
            while not self._ending.wait(_BULK_POLL_SECONDS):
                for topic in self._topics:
                    if self._bench.topics.end_offset(topic) >= goals[topic]:
                        goals[topic] += self._file.lines
                        self._worker.delete(self._connectors[topic])
                        self._start(topic)
        except Exception as error:  # the measuring thread reports it
            self._error = error

    def _moved(self) -> int:
        return sum(self._bench.topics.end_offset(topic) for topic in self._topics)
