"""Contestants in turn, and parts that fail."""

from collections.abc import Iterator

from benchmarks.contestants import CONTESTANTS, JAVA, OURS, TUNED, Contestant
from benchmarks.measure import InvalidCellError
from benchmarks.quantities import Quantity, Row, Sample
from benchmarks.report import Report
from benchmarks.turns import Turns, take_turns
from benchmarks.workload import Format

ROW = Row(Quantity.START, Format.JSON, 1)


def test_each_contestant_is_the_first_in_turn() -> None:
    order: list[Contestant] = []

    def run(contestant: Contestant) -> Iterator[Sample]:
        order.append(contestant)
        yield Sample(ROW, contestant, float(len(order)))

    report = Report()
    take_turns([Turns("start", CONTESTANTS, run)], 3, report)
    assert order == [JAVA, TUNED, OURS, TUNED, OURS, JAVA, OURS, JAVA, TUNED]
    assert report.figures(ROW, JAVA) == [1.0, 6.0, 8.0]
    assert report.void == []


def test_a_part_that_fails_is_void_and_the_others_go_on() -> None:
    def run(contestant: Contestant) -> Iterator[Sample]:
        if contestant is JAVA:
            raise InvalidCellError("a record is missing")
        if contestant is TUNED:
            raise AssertionError("it did not stop")
        yield Sample(ROW, contestant, 1.0)

    report = Report()
    take_turns([Turns("start", CONTESTANTS, run)], 1, report)
    assert report.void == ["1/1 start, Java defaults: a record is missing", "1/1 start, Java tuned: it did not stop"]
    assert report.figures(ROW, OURS) == [1.0]
