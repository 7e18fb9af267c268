"""The table of the benchmarks: medians, ratios, marks, what is void."""

from benchmarks.contestants import JAVA, OURS, TUNED, Contestant
from benchmarks.mirror.records import Shape
from benchmarks.quantities import Quantity, Row, Sample
from benchmarks.report import Report
from benchmarks.workload import Format


def report(quantity: Quantity, figures: dict[str, list[float]], tasks: int = 1) -> Report:
    contestants: dict[str, Contestant] = {"java": JAVA, "tuned": TUNED, "ours": OURS}
    row = Row(quantity, Format.JSON, tasks)
    return Report([Sample(row, contestants[name], each) for name, all_ in figures.items() for each in all_])


def cells(made: Report) -> list[str]:
    return [cell.strip() for cell in made.table().splitlines()[2].strip("|").split("|")]


def test_a_row_shows_medians_spreads_ratios_and_marks() -> None:
    figures = {"java": [200.0, 190.0, 230.0], "tuned": [400.0, 410.0, 390.0], "ours": [500.0, 450.0, 510.0]}
    assert cells(report(Quantity.SOURCE_WARM, figures)) == [
        "source, warm",
        "json",
        "1",
        "k rec/s",
        "200 (190–230)",
        "400 (390–410)",
        "500 (450–510)",
        "2.50x",
        "1.25x",
        "≥ 1.05x tuned ✓",
    ]


def test_a_target_counts_for_the_tasks_it_names() -> None:
    figures = {"java": [1.0], "tuned": [1.0], "ours": [1.0]}
    assert cells(report(Quantity.SOURCE_WARM, figures, tasks=3))[-1] == "–"
    assert cells(report(Quantity.SOURCE_WARM, figures, tasks=4))[-1] == "≥ 1.05x tuned ✗"


def test_less_is_better_where_the_target_says_so() -> None:
    assert cells(report(Quantity.SINK_CPU, {"tuned": [5.0], "ours": [3.0]}))[-1] == "≤ 1.25x tuned ✓"
    assert cells(report(Quantity.LINE_P50, {"ours": [61.0]}))[-1] == "≤ 25 ms ✗"


def test_a_row_without_our_figure_is_printed_and_not_judged() -> None:
    made = report(Quantity.SINK_WARM, {"java": [300.0], "tuned": [400.0]})
    assert cells(made)[6:] == ["void", "–", "–", "≥ 1x tuned –"]
    made.void.append("sink json 1, ours: the task failed")
    assert made.verdict() == "0 of 0 targets met\n\nVOID: sink json 1, ours: the task failed"


def test_a_contestant_that_is_not_compared_is_not_void() -> None:
    made = cells(report(Quantity.GROUP_RUNNING, {"java": [5.0], "ours": [4.0]}, tasks=100))
    assert made[4:] == ["5.00", "–", "4.00", "0.80x", "–", "≤ 1x defaults ✓"]
    assert cells(report(Quantity.GROUP_RUNNING, {"java": [5.0]}))[5:7] == ["–", "void"]


def test_an_idle_worker_is_judged_with_a_hundred_connectors() -> None:
    figures = {"java": [0.09], "ours": [0.14]}
    assert cells(report(Quantity.IDLE_CPU, figures, tasks=100))[-1] == "≤ 0.15 cores ✓"
    assert cells(report(Quantity.IDLE_CPU, figures, tasks=20))[-1] == "–"


def test_a_mirrored_topic_has_its_shape_in_the_column_of_formats() -> None:
    row = Row(Quantity.MIRROR_P99, Shape.PARTED, 2)
    made = cells(Report([Sample(row, TUNED, 40.0), Sample(row, OURS, 50.0)]))
    assert made[1:] == ["200 B, 12 partitions", "2", "ms", "void", "40.0", "50.0", "–", "1.25x", "≤ 60 ms ✓"]
