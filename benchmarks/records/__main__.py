"""`python -m benchmarks.records`: the same records from lists and from frames, through one task of a warm worker.

    make bench OF=records

Both make their records while they poll, so that a list's processor time has that of the author's own objects in it.
The topics of both must have the same bytes.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from benchmarks.bench import Bench, Effort
from benchmarks.contestants import OURS, Running
from benchmarks.measure import InvalidCellError, Stopwatch, Window
from benchmarks.report import listed_facts
from benchmarks.throughput import await_all
from benchmarks.topics import Topics
from benchmarks.workload import Format, Workload
from connect_dagster.embedded.broker import EmbeddedBroker

_PLUGINS = Path(__file__).with_name("plugins")
_WORKER = replace(OURS, worker_props={"plugin.path": str(_PLUGINS)})
_SHAPES = ("text", "dict", "struct")
_LEAST_RATE, _MOST_COST = 150.0, 2.0


@dataclass(frozen=True, slots=True)
class Way:
    """A way to poll: lists or frames, with the records of each."""

    form: str
    poll: int

    def __str__(self) -> str:
        return f"{self.form}s of {self.poll:,}"


_WAYS = (Way("list", 500), Way("list", 5_000), Way("frame", 100_000))
_FRAMES = _WAYS[-1]


@dataclass(slots=True)
class Figures:
    """Measurements of a shape by way: thousands of records a second, and processor seconds of a million."""

    rates: dict[Way, list[float]] = field(default_factory=dict)
    costs: dict[Way, list[float]] = field(default_factory=dict)

    def add(self, way: Way, records: int, window: Window) -> None:
        """Keep a measurement."""
        self.rates.setdefault(way, []).append(records / window.seconds / 1e3)
        self.costs.setdefault(way, []).append(window.cpu_seconds * 1e6 / records)

    def rows(self, shape: str) -> Iterator[tuple[str, ...]]:
        """Yield the lines of the table."""
        frame = statistics.median(self.costs[_FRAMES])
        for way in _WAYS:
            rate, cost = statistics.median(self.rates[way]), statistics.median(self.costs[way])
            judged = "–"
            if way is not _FRAMES:
                judged = f"{_mark(rate >= _LEAST_RATE)} {_mark(cost <= _MOST_COST * frame)}"
            yield shape, str(way), f"{rate:.0f}", f"{cost:.2f}", f"{cost / frame:.2f}x", judged


def _mark(met: bool) -> str:
    return "✓" if met else "✗"


@click.command()
@click.option("--records", type=click.IntRange(min=1_000), help="Of a cell.  [default: 2000000; quick: 100000]")
@click.option("--repetitions", type=click.IntRange(min=1), help="Of each cell.  [default: 3; quick: 1]")
@click.option("--shapes", multiple=True, type=click.Choice(_SHAPES), help="Only this shape; repeatable.")
@click.option("--quick", is_flag=True, help="One repetition of few records: to see that all cells run.")
def main(records: int | None, repetitions: int | None, shapes: Sequence[str], quick: bool) -> None:
    """Compare lists of records with frames. The table goes to standard output."""
    count = records or (100_000 if quick else 2_000_000)
    rounds = repetitions or (1 if quick else 3)
    found: dict[str, Figures] = {shape: Figures() for shape in shapes or _SHAPES}
    with (
        tempfile.TemporaryDirectory(prefix="connect-dagster-bench-") as name,
        EmbeddedBroker(Path(name) / "broker", 0, heap="2g", jvm=()) as broker,
        closing(Topics(broker.bootstrap_servers)) as topics,
    ):
        effort = Effort(count, count, 0, connectors=0, quiet_seconds=0, idle_seconds=0)
        bench = Bench(broker.bootstrap_servers, Path(name), topics, Workload(Path(name), count), effort)
        try:
            with bench.worker(_WORKER, Format.JSON) as worker:
                worker.wait_ready()
                for repetition in range(-1, rounds):  # the first one warms the worker up
                    _measure(bench, worker, found, kept=repetition >= 0)
        except InvalidCellError as error:
            sys.exit(f"VOID: {error}")
    click.echo("| values | poll | k rec/s | s/M rec | / frames | ≥ 150, ≤ 2x |\n|---|---|---|---|---|---|")
    for shape, figures in found.items():
        click.echo("\n".join(f"| {' | '.join(row)} |" for row in figures.rows(shape)))
    click.echo(f"\n{listed_facts(f'{count} records a cell, {rounds} repetitions in turn: medians')}")


def _measure(bench: Bench, worker: Running, found: dict[str, Figures], *, kept: bool) -> None:
    for shape, figures in found.items():
        digests = set()
        for way in _WAYS:
            with bench.new_topics(1) as (topic,):
                window = _round(bench, worker, topic, shape, way)
                digests.add(bench.topics.digest(topic))
            if kept:
                figures.add(way, bench.effort.lines, window)
                rate = bench.effort.lines / window.seconds / 1e3
                click.echo(f"{shape}, {way}: {rate:.0f} k rec/s, {window.cpu_seconds:.1f} s", err=True)
        if len(digests) > 1:
            raise InvalidCellError(f"lists and frames of {shape} have written other bytes")


def _round(bench: Bench, worker: Running, topic: str, shape: str, way: Way) -> Window:
    """Have a connector write all records, once."""
    name, records = bench.name("generated"), bench.effort.lines
    config = {"name": name, "connector.class": "Generated", "topic": topic, "shape": shape, "form": way.form}
    watch = Stopwatch(worker.processes)
    worker.create({**config, "poll": str(way.poll), "records": str(records)})
    await_all(worker, records, [lambda: bench.topics.end_offset(topic) >= records])
    window = watch.stop()
    worker.delete(name)
    worker.processes.settle(2.0)
    return window


if __name__ == "__main__":
    main()
