"""`python -m benchmarks.mirror`: our dedicated process beside Java's MirrorMaker, at its defaults and tuned, in turn.

    make bench OF=mirror

Two brokers; each process is fresh, has aliases of its two clusters that no other has, and mirrors one topic. All that
it wrote is compared with the source, record by record.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path

import click

from benchmarks.contestants import CONTESTANTS, Contestant
from benchmarks.mirror.bench import Effort, MirrorBench, new_cluster
from benchmarks.mirror.cells import RATES, bulk_cell, latency_cell, start_cell
from benchmarks.mirror.process import client_properties
from benchmarks.mirror.records import Shape
from benchmarks.quantities import Sample
from benchmarks.report import Report, listed_facts, settings_text
from benchmarks.turns import Turns, run_to_table, take_turns
from connect_dagster.connectors.mirror.flow import Flow

Run = Callable[[MirrorBench, Contestant, Shape], Iterator[Sample]]


class Kind(Enum):
    """A kind of cell; the value is its name on the command line."""

    START = "start"
    LATENCY = "latency"
    BULK = "bulk"


_RUNS: dict[Kind, Run] = {Kind.START: start_cell, Kind.LATENCY: latency_cell, Kind.BULK: bulk_cell}
_SHAPES = {shape.name.lower(): shape for shape in Shape}


@dataclass(frozen=True, slots=True)
class Cell:
    """A kind of cell with the shape of its topic."""

    kind: Kind
    shape: Shape

    def turns(self, bench: MirrorBench) -> Turns:
        """Return the parts of the contestants."""

        def run(contestant: Contestant) -> Iterator[Sample]:
            return _RUNS[self.kind](bench, contestant, self.shape)

        return Turns(f"{self.kind.value}, {self.shape.value}", CONTESTANTS, run)


@click.command()
@click.option("--records", type=click.IntRange(min=1000), help="Of a bulk cell.  [default: 2000000; quick: 200000]")
@click.option("--warm-up", type=click.IntRange(min=1000), help="Records before.  [default: 1000000; quick: 100000]")
@click.option("--seconds", type=click.IntRange(min=1), help="Of latencies at each rate.  [default: 30; quick: 5]")
@click.option("--repetitions", type=click.IntRange(min=1), help="Of each cell.  [default: 3; quick: 1]")
@click.option("--quick", is_flag=True, help="One repetition, less of everything: to see that all cells run.")
@click.option(
    "--cells", "kinds", multiple=True, type=click.Choice([kind.value for kind in Kind]), help="Only this kind."
)
@click.option(
    "--shapes", multiple=True, type=click.Choice(list(_SHAPES)), help="Only this shape of bulk cells; repeatable."
)
def main(
    records: int | None,
    warm_up: int | None,
    seconds: int | None,
    repetitions: int | None,
    quick: bool,
    kinds: Sequence[str],
    shapes: Sequence[str],
) -> None:
    """Compare our MirrorMaker with Java's. Progress goes to standard error, the table to standard output.

    Ends with 1 when a figure is void: a process failed, or did not mirror exactly the records it was given.
    """
    usual = Effort(200_000, 100_000, 5) if quick else Effort(2_000_000, 1_000_000, 30)
    chosen = {"records": records, "warm_up": warm_up, "seconds": seconds}
    effort = replace(usual, **{name: value for name, value in chosen.items() if value is not None})
    rounds = repetitions or (1 if quick else 3)
    cells = _cells([Kind(name) for name in kinds], [_SHAPES[name] for name in shapes])
    run_to_table(_facts(effort, rounds), partial(_run, cells, effort, rounds))


def _cells(kinds: Sequence[Kind], shapes: Sequence[Shape]) -> list[Cell]:
    chosen = {Kind.BULK: shapes or list(Shape)}
    return [Cell(kind, shape) for kind in kinds or Kind for shape in chosen.get(kind, [Shape.PLAIN])]


def _run(cells: Sequence[Cell], effort: Effort, repetitions: int, report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="connect-dagster-bench-") as name:
        folder = Path(name)
        with new_cluster(folder / "source") as source, new_cluster(folder / "target") as target:
            bench = MirrorBench(folder, source, target, effort)
            take_turns([cell.turns(bench) for cell in cells], repetitions, report)


def _facts(effort: Effort, repetitions: int) -> str:
    flow = Flow("source", "target")
    shares = [f"{shape.layout.share:g} of them in the shape {shape.value}" for shape in Shape if shape.layout.share < 1]
    return listed_facts(
        f"two brokers, one process with the worker on the target; {repetitions} repetitions in turn: "
        "median (least–most)",
        f"bulk: {effort.warm_up} records until the process is warm, {effort.records} measured, a tenth more after the "
        f"clock stops; {', '.join(shares)}; cold counts from the start of the process",
        f"latency: from produce ({', '.join(f'{rate} a second: linger.ms={linger}' for rate, linger, *_ in RATES)}) "
        "to the consumer's poll, "
        f"{effort.seconds} s at each rate after a third of that time, in "
        f"a process that has mirrored {effort.warm_up} records",
        *(
            f"{each.name}: JVM {each.jvm}{settings_text({'clients': client_properties(each, flow)})}"
            for each in CONTESTANTS
        ),
    )


if __name__ == "__main__":
    main()
