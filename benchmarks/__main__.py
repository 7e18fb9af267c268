"""`python -m benchmarks`: all cells, the contestants in turn within each repetition, then the table."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path

import click

from benchmarks.bench import Bench, Effort
from benchmarks.chain import chain_cell
from benchmarks.contestants import CONTESTANTS, IN_GROUPS, Contestant
from benchmarks.group import group_cell
from benchmarks.idle import idle_cell
from benchmarks.latency import latency_cell, sink_latency_cell
from benchmarks.quantities import Sample
from benchmarks.report import Report, facts
from benchmarks.start import sink_start_cell, start_cell
from benchmarks.throughput import sink_cell, source_cell
from benchmarks.topics import Topics
from benchmarks.turns import Turns, run_to_table, take_turns
from benchmarks.workload import PLAIN, Format, Workload
from connect_dagster.embedded.broker import EmbeddedBroker

_BROKER_HEAP = "2g"
_BULK_TASKS = 3
_IDLE_CONNECTORS = (1, 20)  # and as many as a group has

Run = Callable[[Bench, Contestant, Format, int], Iterator[Sample]]


class Kind(Enum):
    """A kind of cell; the value is its name on the command line."""

    START = "start"
    SINK_START = "sink-start"
    SOURCE = "source"
    SINK = "sink"
    CHAIN = "chain"
    LATENCY = "latency"
    SINK_LATENCY = "sink-latency"
    GROUP = "group"
    IDLE = "idle"


_RUNS: dict[Kind, Run] = {
    Kind.START: start_cell,
    Kind.SINK_START: sink_start_cell,
    Kind.SOURCE: source_cell,
    Kind.SINK: sink_cell,
    Kind.CHAIN: chain_cell,
    Kind.LATENCY: latency_cell,
    Kind.SINK_LATENCY: sink_latency_cell,
    Kind.GROUP: group_cell,
    Kind.IDLE: idle_cell,
}
_BULK = (Kind.SOURCE, Kind.SINK)
_OF_GROUPS = (Kind.GROUP, Kind.IDLE)


@dataclass(frozen=True, slots=True)
class Cell:
    """A kind of cell with the format of its records and the number of its tasks or connectors."""

    kind: Kind
    form: Format
    tasks: int

    def turns(self, bench: Bench) -> Turns:
        """Return the parts of the contestants."""

        def run(contestant: Contestant) -> Iterator[Sample]:
            return _RUNS[self.kind](bench, contestant, self.form, self.tasks)

        contestants = IN_GROUPS if self.kind in _OF_GROUPS else CONTESTANTS
        return Turns(f"{self.kind.value} {self.form.value} {self.tasks}", contestants, run)


def _choice(kinds: type[Enum]) -> click.Choice[str]:
    return click.Choice([kind.value for kind in kinds])


@click.command()
@click.option("--lines", type=click.IntRange(min=8), help="Lines of a bulk cell.  [default: 2000000; quick: 200000]")
@click.option("--repetitions", type=click.IntRange(min=1), help="Of each cell.  [default: 3; quick: 1]")
@click.option("--samples", type=click.IntRange(min=1), help="Single lines of a latency.  [default: 100; quick: 30]")
@click.option("--connectors", type=click.IntRange(min=2), help="Of a group.  [default: 100; quick: 10]")
@click.option("--warm-up", default=500_000, show_default=True, help="Lines that make a worker warm.")
@click.option("--quick", is_flag=True, help="One repetition, less of everything: to see that all cells run.")
@click.option("--cells", "kinds", multiple=True, type=_choice(Kind), help="Only this kind; repeatable.")
@click.option("--formats", multiple=True, type=_choice(Format), help="Only this format; repeatable.")
@click.option("--tasks", multiple=True, type=click.IntRange(min=1), default=(1, 2, 4), show_default=True)
def main(
    lines: int | None,
    repetitions: int | None,
    samples: int | None,
    connectors: int | None,
    warm_up: int,
    quick: bool,
    kinds: Sequence[str],
    formats: Sequence[str],
    tasks: Sequence[int],
) -> None:
    """Compare our worker with Java Kafka Connect. Progress goes to standard error, the table to standard output.

    Ends with 1 when a figure is void: a worker failed, or did not move exactly the lines it was given.
    """
    full = Effort(2_000_000, warm_up, 100, connectors=100, quiet_seconds=20, idle_seconds=30)
    less = Effort(200_000, warm_up, 30, connectors=10, quiet_seconds=15, idle_seconds=5)
    chosen = {"lines": lines, "samples": samples, "connectors": connectors}
    effort = replace(less if quick else full, **{name: value for name, value in chosen.items() if value is not None})
    rounds = repetitions or (1 if quick else 3)
    numbers = {
        Kind.SOURCE: tasks,
        Kind.CHAIN: [1],
        Kind.SINK: tasks,
        Kind.GROUP: [effort.connectors],
        Kind.IDLE: [*(number for number in _IDLE_CONNECTORS if number < effort.connectors), effort.connectors],
    }
    cells = _cells([Kind(name) for name in kinds], [Format(name) for name in formats], numbers)
    run_to_table(facts(effort, rounds), partial(_run, cells, effort, rounds))


def _cells(kinds: Sequence[Kind], formats: Sequence[Format], numbers: Mapping[Kind, Sequence[int]]) -> list[Cell]:
    plain = [form for form in formats or PLAIN if form in PLAIN]
    forms = {Kind.CHAIN: [Format.AVRO], **dict.fromkeys(_BULK, plain)}
    return [
        Cell(kind, form, number)
        for kind in sorted(kinds or Kind, key=_BULK.__contains__)
        for form in forms.get(kind, plain[:1])
        for number in numbers.get(kind, [_BULK_TASKS])
    ]


def _run(cells: Sequence[Cell], effort: Effort, repetitions: int, report: Report) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="connect-dagster-bench-") as name,
        EmbeddedBroker(Path(name) / "broker", 0, heap=_BROKER_HEAP, jvm=()) as broker,
        closing(Topics(broker.bootstrap_servers)) as topics,
    ):
        folder = Path(name)
        bench = Bench(broker.bootstrap_servers, folder, topics, Workload(folder, effort.lines), effort)
        take_turns([cell.turns(bench) for cell in cells], repetitions, report)


if __name__ == "__main__":
    main()
