"""Cells of a connector: its snapshot, parts of the binary log, the latency of one row."""

import time
from collections.abc import Iterator
from contextlib import closing

from benchmarks.cdc.bench import CaptureBench
from benchmarks.cdc.logs import Log
from benchmarks.contestants import Contestant
from benchmarks.measure import Stopwatch
from benchmarks.quantities import Quantity, Row, Sample, percentiles
from benchmarks.workload import Format

_FEW = 20_000
_SEEN_SECONDS = 60.0
_PAUSE_SECONDS = 0.02

LOGS = {
    Log.BULK: (Quantity.CDC_BULK, Quantity.CDC_BULK_CPU),
    Log.MIXED: (Quantity.CDC_MIXED, Quantity.CDC_MIXED_CPU),
    Log.SINGLE: (Quantity.CDC_SINGLE, Quantity.CDC_SINGLE_CPU),
    Log.MANY: (Quantity.CDC_MANY, Quantity.CDC_MANY_CPU),
}


def _sample(quantity: Quantity, contestant: Contestant, figure: float) -> Sample:
    return Sample(Row(quantity, Format.JSON, 1), contestant, figure)


def snapshot_cell(bench: CaptureBench, contestant: Contestant) -> Iterator[Sample]:
    """Measure a snapshot in a worker that has taken a small one, from the request that creates the connector."""
    rows = bench.effort.rows
    small, large = bench.table(_FEW), bench.table(rows)
    with bench.worker(contestant) as worker:
        with bench.capturing(worker, contestant, small, ["goods"]) as topics:
            bench.await_records(worker, topics, _FEW)
        worker.processes.settle()
        watch = Stopwatch(worker.processes)
        with bench.capturing(worker, contestant, large, ["goods"]) as topics:
            bench.await_records(worker, topics, rows)
            window = watch.stop()
            memory = worker.processes.peak_bytes()
            bench.check(topics, rows)
    yield _sample(Quantity.CDC_SNAPSHOT, contestant, rows / window.seconds / 1e3)
    yield _sample(Quantity.CDC_SNAPSHOT_CPU, contestant, window.cpu_seconds * 1e6 / rows)
    yield _sample(Quantity.CDC_SNAPSHOT_MEMORY, contestant, memory / 1e6)


def log_cell(bench: CaptureBench, contestant: Contestant, kind: Log) -> Iterator[Sample]:
    """Measure a part of the log after its first records, which bring the worker to temperature."""
    log = bench.log(kind)
    warm = round(log.records * bench.effort.warm_share)
    options = {"snapshot_mode": "recovery"}
    with (
        bench.worker(contestant) as worker,
        bench.capturing(worker, contestant, log.database, log.tables, log.offset, **options) as topics,
    ):
        bench.await_records(worker, topics, warm)
        watch = Stopwatch(worker.processes)
        begun = bench.count(topics)
        ended = bench.await_records(worker, topics, log.records)
        window = watch.stop()
        bench.check(topics, log.records)
    rate, cpu = LOGS[kind]
    yield _sample(rate, contestant, (ended - begun) / window.seconds / 1e3)
    yield _sample(cpu, contestant, window.cpu_seconds * 1e6 / (ended - begun))


def latency_cell(bench: CaptureBench, contestant: Contestant) -> Iterator[Sample]:
    """Measure single rows from the end of their statement to a consumer's poll."""
    database = bench.new_table(_FEW)
    times: list[float] = []
    with (
        bench.worker(contestant) as worker,
        bench.capturing(worker, contestant, database, ["goods"]) as topics,
        database.connected() as connection,
        connection.cursor() as cursor,
    ):
        bench.await_records(worker, topics, _FEW)
        cursor.execute("UPDATE goods SET price = price + 1 WHERE id < 5000")  # the log, in bulk, before what counts
        connection.commit()
        bench.await_records(worker, topics, _FEW + 5000)
        warm_up = bench.effort.samples // 2
        with closing(bench.topics.tail(topics[0], _FEW + 5000)) as tail:
            for number in range(warm_up + bench.effort.samples):
                cursor.execute(f"UPDATE goods SET note = 'sample {number}.' WHERE id = {number}")
                connection.commit()
                began = time.monotonic()
                times.append(tail.await_value(f"sample {number}.".encode(), _SEEN_SECONDS) - began)
                time.sleep(_PAUSE_SECONDS)
    yield from percentiles(times[warm_up:], contestant, Format.JSON, 1, Quantity.CDC_P50, Quantity.CDC_P99)
