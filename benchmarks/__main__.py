"""`python -m benchmarks`: all cells, the contestants in turn within each repetition, then the table.

The order of the contestants moves on by one with each repetition, so that none is always the first.
"""

import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import click
from confluent_kafka import KafkaException

from benchmarks.bench import Bench, Effort
from benchmarks.contestants import CONTESTANTS, Contestant
from benchmarks.latency import latency_cell, sink_latency_cell
from benchmarks.measure import Void
from benchmarks.quantities import Sample
from benchmarks.report import Report, facts
from benchmarks.start import start_cell
from benchmarks.throughput import sink_cell, source_cell
from benchmarks.topics import Topics
from benchmarks.workload import Format, Workload
from connect_dagster.embedded.broker import EmbeddedBroker

_BROKER_HEAP = "2g"
_BULK_TASKS = 3

Run = Callable[[Bench, Contestant, Format, int], Iterator[Sample]]


class Kind(Enum):
    """A kind of cell; the value is its name on the command line."""

    START = "start"
    SOURCE = "source"
    SINK = "sink"
    LATENCY = "latency"
    SINK_LATENCY = "sink-latency"


_RUNS: dict[Kind, Run] = {
    Kind.START: start_cell,
    Kind.SOURCE: source_cell,
    Kind.SINK: sink_cell,
    Kind.LATENCY: latency_cell,
    Kind.SINK_LATENCY: sink_latency_cell,
}
_BULK = (Kind.SOURCE, Kind.SINK)


@dataclass(frozen=True, slots=True)
class Cell:
    """What one contestant does in one go."""

    kind: Kind
    form: Format
    tasks: int

    def __str__(self) -> str:
        return f"{self.kind.value} {self.form.value} {self.tasks}"


def _choice(kinds: type[Enum]) -> click.Choice[str]:
    return click.Choice([kind.value for kind in kinds])


@click.command()
@click.option("--lines", type=click.IntRange(min=8), help="Lines of a bulk cell.  [default: 2000000; quick: 200000]")
@click.option("--repetitions", type=click.IntRange(min=1), help="Of each cell.  [default: 3; quick: 1]")
@click.option("--samples", type=click.IntRange(min=1), help="Single lines of a latency.  [default: 100; quick: 30]")
@click.option("--warm-up", default=500_000, show_default=True, help="Lines that make a worker warm.")
@click.option("--quick", is_flag=True, help="One repetition, less of everything: to see that all cells run.")
@click.option("--cells", "kinds", multiple=True, type=_choice(Kind), help="Only this kind; repeatable.")
@click.option("--formats", multiple=True, type=_choice(Format), help="Only this format; repeatable.")
@click.option("--tasks", multiple=True, type=click.IntRange(min=1), default=(1, 2, 4), show_default=True)
def main(
    lines: int | None,
    repetitions: int | None,
    samples: int | None,
    warm_up: int,
    quick: bool,
    kinds: Sequence[str],
    formats: Sequence[str],
    tasks: Sequence[int],
) -> None:
    """Compare our worker with Java Kafka Connect. Progress goes to standard error, the table to standard output.

    Ends with 1 when a figure is void: a worker failed, or did not move exactly the lines it was given.
    """
    effort = Effort(lines or (200_000 if quick else 2_000_000), warm_up, samples or (30 if quick else 100))
    rounds = repetitions or (1 if quick else 3)
    cells = _cells([Kind(name) for name in kinds], [Format(name) for name in formats], tasks)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    about, report = facts(effort, rounds), Report()
    try:
        _run(cells, effort, rounds, report)
    except KeyboardInterrupt:
        report.void.append("interrupted: the table is not complete")
    click.echo(f"{report.table()}\n\n{report.verdict()}\n\n{about}")
    sys.exit(1 if report.void else 0)


def _cells(kinds: Sequence[Kind], formats: Sequence[Format], tasks: Sequence[int]) -> list[Cell]:
    chosen, forms = kinds or list(Kind), formats or list(Format)
    single = [Cell(kind, forms[0], _BULK_TASKS) for kind in chosen if kind not in _BULK]
    return single + [Cell(kind, form, number) for kind in chosen if kind in _BULK for form in forms for number in tasks]


def _run(cells: Sequence[Cell], effort: Effort, repetitions: int, report: Report) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="connect-dagster-bench-") as name,
        EmbeddedBroker(Path(name) / "broker", 0, heap=_BROKER_HEAP, jvm=()) as broker,
        closing(Topics(broker.bootstrap_servers)) as topics,
    ):
        folder = Path(name)
        bench = Bench(broker.bootstrap_servers, folder, topics, Workload(folder, effort.lines), effort)
        for repetition in range(repetitions):
            first = repetition % len(CONTESTANTS)
            for cell in cells:
                for contestant in (*CONTESTANTS[first:], *CONTESTANTS[:first]):
                    _measure(bench, cell, contestant, report, f"{repetition + 1}/{repetitions}")


def _measure(bench: Bench, cell: Cell, contestant: Contestant, report: Report, repetition: str) -> None:
    try:
        for sample in _RUNS[cell.kind](bench, contestant, cell.form, cell.tasks):
            report.samples.append(sample)
            quantity = sample.row.quantity
            figure = f"{sample.figure:.{quantity.decimals}f} {quantity.unit}"
            click.echo(f"{repetition} {cell} {contestant.name}: {quantity.title} {figure}", err=True)
    except (Void, KafkaException) as error:
        report.void.append(f"{repetition} {cell}, {contestant.name}: {error}")
        click.echo(report.void[-1], err=True)


if __name__ == "__main__":
    main()
