"""The table of a campaign: recovery by kind of fault, beside Java's for the same faults; growth with time."""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.measure import percentile
from tests.campaign.outcomes import Footprint, Outcome

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
ALONE, BESIDE_JAVA = "campaign", "campaign beside Java"
"""Names of the two places of the page."""
WARM_SECONDS = 300.0
OURS, JAVA = "ours", "java"
_NONE = "–"
_HEAD = (
    "fault",
    "faults",
    "RUNNING p50 / p99, s",
    "caught up p50 / p99, s",
    "lost",
    "stuck",
    "duplicates topic / sink",
)
_JAVAS_HEAD = ("Java: caught up p50 / p99, s", "Java: lost + stuck", "p50 / Java's", "p99 / Java's")
_GROWN: tuple[tuple[str, str, Callable[[Footprint], float]], ...] = (
    ("memory", "MB", lambda footprint: footprint.memory / 2**20),
    ("descriptors", "", lambda footprint: footprint.descriptors),
    ("threads", "", lambda footprint: footprint.threads),
)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return a row for each kind of fault and one for all, as Markdown."""
    ours = [outcome for outcome in outcomes if outcome.side == OURS]
    javas = [outcome for outcome in outcomes if outcome.side == JAVA]
    kinds = sorted({outcome.kind for outcome in outcomes})
    rows = [_row(kind, _of(ours, kind), _of(javas, kind), bool(javas)) for kind in kinds]
    rows.append(_row("all", ours, javas, bool(javas)))
    head = (*_HEAD, *(_JAVAS_HEAD if javas else ()))
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return the rest by side: FAILED tasks, workers that ended, leftovers, growth by the hour."""
    return "\n".join(
        line for side in (OURS, JAVA) for line in _summary(side, [each for each in outcomes if each.side == side])
    )


def slope(footprints: Iterable[Footprint], figure: Callable[[Footprint], float]) -> float | None:
    """Return the growth of a figure in an hour, by least squares, with a separate intercept for each start of a worker.

    Returns:
        `None` when no start of a worker was looked at twice.
    """
    series: dict[str, list[tuple[float, float]]] = {}
    for footprint in footprints:
        series.setdefault(footprint.process, []).append((footprint.age / 3600, figure(footprint)))
    above = below = 0.0
    for points in series.values():
        middle = math.fsum(x for x, _ in points) / len(points)
        level = math.fsum(y for _, y in points) / len(points)
        above += math.fsum((x - middle) * (y - level) for x, y in points)
        below += math.fsum((x - middle) ** 2 for x, _ in points)
    return above / below if below else None


def about(name: str, outcomes: Sequence[Outcome], machine: str) -> str:
    """Return a sentence about a campaign, with its size and the faults that ended badly."""
    parts = [f"{name}, {machine}: {_count(OURS, outcomes)}"]
    if any(outcome.side == JAVA for outcome in outcomes):
        parts.append(_count(JAVA, outcomes))
    return "; ".join(parts) + "."


def _count(side: str, outcomes: Sequence[Outcome]) -> str:
    own = [outcome for outcome in outcomes if outcome.side == side]
    bad = ", ".join(f"{outcome.number} {outcome.kind}" for outcome in own if not outcome.good)
    return (
        f"{len(own)} faults {'with Java' if side == JAVA else 'with our workers'}, "
        f"{sum(outcome.lost for outcome in own)} records lost, {sum(outcome.stuck for outcome in own)} stuck, "
        f"ended badly: {bad or 'none'}"
    )


def write_page(heading: str, outcomes: Sequence[Outcome], name: str = ALONE, page: Path = PAGE) -> None:
    """Write the table into the page about tests, between the marks of this name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    text = f"{heading}\n\n{table(outcomes)}\n\n{summary(outcomes)}\n"
    page.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def progress(outcome: Outcome) -> str:
    """Return a line about one fault."""
    memory = sum(footprint.memory for footprint in outcome.footprints) / 2**20
    descriptors = sum(footprint.descriptors for footprint in outcome.footprints)
    threads = sum(footprint.threads for footprint in outcome.footprints)
    return (
        f"{outcome.number} {outcome.side} {outcome.kind} {outcome.seconds:g} s, {outcome.workers}: "
        f"RUNNING {_seconds(outcome.running)}, caught up {_seconds(outcome.caught_up)}, "
        f"lost {outcome.lost}, stuck {outcome.stuck}, "
        f"duplicates {outcome.topic_duplicates} in topics, {outcome.sink_duplicates} in sinks, "
        f"{outcome.failed} FAILED, {outcome.ended} workers ended, {memory:.0f} MB, {descriptors} descriptors, "
        f"{threads} threads, {outcome.temporary} temporary, {outcome.orphans} orphans"
        f"{outcome.note and ': '}{outcome.note}"
    )


def _row(name: str, ours: Sequence[Outcome], javas: Sequence[Outcome], beside: bool) -> tuple[str, ...]:
    running = [outcome.running for outcome in ours if outcome.running is not None]
    caught_up, javas_caught_up = _caught_up(ours), _caught_up(javas)
    cells = (
        name,
        str(len(ours)),
        _spread(running),
        _spread(caught_up),
        str(sum(outcome.lost for outcome in ours)),
        str(sum(outcome.stuck for outcome in ours)),
        f"{sum(each.topic_duplicates for each in ours)} / {sum(each.sink_duplicates for each in ours)}",
    )
    if not beside:
        return cells
    lost = str(sum(outcome.lost + outcome.stuck for outcome in javas)) if javas else _NONE
    borne = {outcome.number for outcome in javas}
    paired = _caught_up([outcome for outcome in ours if outcome.number in borne])
    ratios = (_ratio(paired, javas_caught_up, share) for share in (0.5, 0.99))
    return (*cells, _spread(javas_caught_up), lost, *ratios)


def _summary(side: str, outcomes: Sequence[Outcome]) -> list[str]:
    if not outcomes:
        return []
    looks = (footprint for outcome in outcomes for footprint in outcome.footprints)
    footprints = [footprint for footprint in looks if footprint.age >= WARM_SECONDS]
    grown = ", ".join(f"{name} {_growth(footprints, unit, figure)}" for name, unit, figure in _GROWN)
    return [
        f"- {side}: {sum(each.failed for each in outcomes)} times FAILED and restarted, "
        f"{sum(each.ended for each in outcomes)} workers ended by themselves, "
        f"at most {max(each.temporary for each in outcomes)} temporary files and folders, "
        f"at most {max(each.orphans for each in outcomes)} orphans",
        f"- {side}, a worker with its JVM, {len(footprints)} looks at workers that are older than {WARM_SECONDS:g} s: "
        f"{grown}",
    ]


def _growth(footprints: Sequence[Footprint], unit: str, figure: Callable[[Footprint], float]) -> str:
    if not footprints:
        return _NONE
    figures, grown = [figure(each) for each in footprints], slope(footprints, figure)
    by_hour = "slope unknown" if grown is None else f"{grown:+.1f} an hour"
    return f"{min(figures):.0f}–{max(figures):.0f}{unit and ' '}{unit} ({by_hour})"


def _of(outcomes: Sequence[Outcome], kind: str) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.kind == kind]


def _caught_up(outcomes: Sequence[Outcome]) -> list[float]:
    return [outcome.caught_up for outcome in outcomes if outcome.caught_up is not None]


def _spread(values: Sequence[float]) -> str:
    return f"{percentile(values, 0.5):.1f} / {percentile(values, 0.99):.1f}" if values else _NONE


def _ratio(ours: Sequence[float], javas: Sequence[float], share: float) -> str:
    theirs = percentile(javas, share) if javas else 0.0
    return f"{percentile(ours, share) / theirs:.2f}x" if ours and theirs else _NONE


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.1f} s"
