"""`python -m benchmarks.transactions`: workers with exactly-once sources and without, ours beside Java's, in turn.

    make bench OF=transactions

Each figure has a fresh distributed worker, alone in its group. A consumer of committed records reads what it wrote.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path

import click

from benchmarks.bench import Bench, Effort
from benchmarks.contestants import CONTESTANTS, Contestant
from benchmarks.quantities import Sample
from benchmarks.report import Report, listed_facts, settings_text
from benchmarks.topics import Topics
from benchmarks.transactions.cells import latency_cell, source_cell
from benchmarks.turns import Turns, run_to_table, take_turns
from benchmarks.workload import PLAIN, Format, Workload
from connect_dagster.embedded.broker import EmbeddedBroker

_BROKER_HEAP = "2g"

Run = Callable[[Bench, Contestant, Format, int], Iterator[Sample]]


class Kind(Enum):
    """A kind of cell; the value is its name on the command line."""

    SOURCE = "source"
    LATENCY = "latency"


_RUNS: dict[Kind, Run] = {Kind.SOURCE: source_cell, Kind.LATENCY: latency_cell}


@dataclass(frozen=True, slots=True)
class Cell:
    """A kind of cell with the format of its records and the number of its tasks."""

    kind: Kind
    form: Format
    tasks: int

    def turns(self, bench: Bench) -> Turns:
        """Return the parts of the contestants."""

        def run(contestant: Contestant) -> Iterator[Sample]:
            return _RUNS[self.kind](bench, contestant, self.form, self.tasks)

        return Turns(f"{self.kind.value} {self.form.value} {self.tasks}", CONTESTANTS, run)


@click.command()
@click.option("--lines", type=click.IntRange(min=100), help="Lines of a cell.  [default: 2000000; quick: 100000]")
@click.option("--warm-up", type=click.IntRange(min=0), help="Lines before.  [default: 500000; quick: 100000]")
@click.option("--samples", type=click.IntRange(min=1), help="Single lines.  [default: 100; quick: 20]")
@click.option("--repetitions", type=click.IntRange(min=1), help="Of each cell.  [default: 3; quick: 1]")
@click.option("--quick", is_flag=True, help="One repetition, less of everything: to see that all cells run.")
@click.option(
    "--cells", "kinds", multiple=True, type=click.Choice([kind.value for kind in Kind]), help="Only this kind."
)
@click.option("--tasks", multiple=True, type=click.IntRange(min=1), default=(1, 20), show_default=True)
def main(
    lines: int | None,
    warm_up: int | None,
    samples: int | None,
    repetitions: int | None,
    quick: bool,
    kinds: Sequence[str],
    tasks: Sequence[int],
) -> None:
    """Compare workers with exactly-once sources and without. The table goes to standard output.

    Ends with 1 when a figure is void: a worker failed, or did not write each line once.
    """
    full = Effort(2_000_000, 500_000, 100, connectors=0, quiet_seconds=0, idle_seconds=0)
    less = Effort(100_000, 100_000, 20, connectors=0, quiet_seconds=0, idle_seconds=0)
    chosen = {"lines": lines, "warm_up": warm_up, "samples": samples}
    effort = replace(less if quick else full, **{name: value for name, value in chosen.items() if value is not None})
    rounds = repetitions or (1 if quick else 3)
    numbers: dict[Kind, Sequence[int]] = {Kind.SOURCE: tasks, Kind.LATENCY: [1]}
    cells = [Cell(kind, PLAIN[0], number) for kind in map(Kind, kinds or Kind) for number in numbers[kind]]
    run_to_table(_facts(effort, rounds), partial(_run, cells, effort, rounds))


def _run(cells: Sequence[Cell], effort: Effort, repetitions: int, report: Report) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="connect-dagster-bench-") as name,
        EmbeddedBroker(Path(name) / "broker", 0, heap=_BROKER_HEAP, jvm=()) as broker,
        closing(Topics(broker.bootstrap_servers)) as topics,
    ):
        folder = Path(name)
        bench = Bench(broker.bootstrap_servers, folder, topics, Workload(folder, effort.lines), effort)
        take_turns([cell.turns(bench) for cell in cells], repetitions, report)


def _facts(effort: Effort, repetitions: int) -> str:
    return listed_facts(
        f"{effort.lines} lines a cell, warm after {effort.warm_up}, {effort.samples} single lines, {repetitions} "
        "repetitions in turn: median (least\u2013most); a distributed worker alone, first without transactions, then a "
        "fresh one with exactly.once.source.support=enabled and transaction.boundary=poll",
        *(
            f"{each.name}: JVM {each.jvm}{settings_text({'worker': each.worker_props, 'sources': each.source_props})}"
            for each in CONTESTANTS
        ),
    )


if __name__ == "__main__":
    main()
