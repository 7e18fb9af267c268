"""A run: the contestants in turn within each repetition of each cell, then the table.

The order of the contestants moves on by one with each repetition, so that none is always the first.
"""

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import click
from confluent_kafka import KafkaException

from benchmarks.contestants import Contestant
from benchmarks.measure import InvalidCellError
from benchmarks.quantities import Sample
from benchmarks.report import Report


@dataclass(frozen=True, slots=True)
class Turns:
    """A cell with its contestants.

    Attributes:
        title: of the cell.
        contestants: who take part.
        run: measures a contestant's part.
    """

    title: str
    contestants: Sequence[Contestant]
    run: Callable[[Contestant], Iterator[Sample]]

    def order(self, repetition: int) -> list[Contestant]:
        """Return the contestants in the order of a repetition, counted from 0."""
        first = repetition % len(self.contestants)
        return [*self.contestants[first:], *self.contestants[:first]]


def run_to_table(about: str, run: Callable[[Report], None]) -> None:
    """Run all cells and print the table; exits with 1 when a figure is void.

    Args:
        about: facts, which go below the table.
        run: measures into a report.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    report = Report()
    try:
        run(report)
    except KeyboardInterrupt:
        report.void.append("interrupted: the table is not complete")
    click.echo(f"{report.table()}\n\n{report.verdict()}\n\n{about}")
    sys.exit(1 if report.void else 0)


def take_turns(cells: Sequence[Turns], repetitions: int, report: Report) -> None:
    """Measure all cells as often as asked; a part that fails is void, and the others go on."""
    for repetition in range(repetitions):
        for cell in cells:
            for contestant in cell.order(repetition):
                _measure(cell, contestant, report, f"{repetition + 1}/{repetitions}")


def _measure(cell: Turns, contestant: Contestant, report: Report, repetition: str) -> None:
    try:
        for sample in cell.run(contestant):
            report.samples.append(sample)
            quantity = sample.row.quantity
            figure = f"{sample.figure:.{quantity.decimals}f} {quantity.unit}"
            click.echo(f"{repetition} {cell.title} {contestant.name}: {quantity.title} {figure}", err=True)
    except (InvalidCellError, KafkaException, AssertionError) as error:  # the last one: a process did not stop
        report.void.append(f"{repetition} {cell.title}, {contestant.name}: {error}")
        click.echo(report.void[-1], err=True)
