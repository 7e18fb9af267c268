"""CPU time and memory of a worker whose connectors are idle."""

import time
from collections.abc import Iterator

from benchmarks.bench import Bench
from benchmarks.contestants import Contestant
from benchmarks.group_workers import group_of
from benchmarks.measure import Stopwatch
from benchmarks.pairs import new_pairs
from benchmarks.quantities import Quantity, Row, Sample
from benchmarks.workload import Format


def idle_cell(bench: Bench, contestant: Contestant, form: Format, connectors: int) -> Iterator[Sample]:
    """Measure a group of one worker, whose connectors have moved a line each and were then idle."""
    with new_pairs(bench, connectors) as pairs, group_of(bench, contestant, form, 1) as group:
        (worker,) = group.members
        group.create(pairs.connectors)
        group.await_running(pairs.connectors, worker)
        pairs.await_lines()
        time.sleep(bench.effort.quiet_seconds)
        watch = Stopwatch(worker.processes)
        time.sleep(bench.effort.idle_seconds)
        window, resident = watch.stop(), worker.processes.resident_bytes()
        group.await_running(pairs.connectors, worker)
        yield Sample(Row(Quantity.IDLE_CPU, form, connectors), contestant, window.cpu_seconds / window.seconds)
        yield Sample(Row(Quantity.IDLE_MEMORY, form, connectors), contestant, resident / 1e6)
