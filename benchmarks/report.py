"""The report: medians with their spread, ratios, targets met and missed; below it machine, versions and settings."""

import os
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import confluent_kafka
import psutil

from benchmarks.bench import Effort
from benchmarks.contestants import CONTESTANTS, JAVA, OURS, TUNED, Contestant, Properties
from benchmarks.group import MAX_DELAY_MS
from benchmarks.quantities import Quantity, Row, Sample, Target
from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.worker.spark.jvm import class_archive

_HEAD = ("measure", "format", "tasks", "unit", *(each.name for each in CONTESTANTS), "/ defaults", "/ tuned", "target")
_MET, _MISSED, _NOTHING = "✓", "✗", "–"


@dataclass(slots=True)
class Report:
    """All measurements of a run so far."""

    samples: list[Sample] = field(default_factory=list)
    void: list[str] = field(default_factory=list)

    def table(self) -> str:
        """Return the figures as a Markdown table."""
        lines = [_HEAD, *map(self._cells, self._rows())]
        widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
        ruler = tuple("-" * width for width in widths)
        return "\n".join(_line(line, widths) for line in (lines[0], ruler, *lines[1:]))

    def verdict(self) -> str:
        """Return the number of targets met, and invalid cells with their reasons."""
        marks = [met for row in self._rows() for _, met in self._judged(row) if met is not None]
        voids = "".join(f"\n\nVOID: {text}" for text in self.void)
        return f"{sum(marks)} of {len(marks)} targets met{voids}"

    def figures(self, row: Row, contestant: Contestant) -> list[float]:
        """Return the measurements of a contestant, a figure for each repetition."""
        return [each.figure for each in self.samples if each.row == row and each.contestant == contestant]

    def _rows(self) -> list[Row]:
        order = list(Quantity)
        found = dict.fromkeys(sample.row for sample in self.samples)
        return sorted(found, key=lambda row: (row.form.value, order.index(row.quantity), row.tasks))

    def _cells(self, row: Row) -> tuple[str, ...]:
        measured = (self._measured(row, contestant) for contestant in CONTESTANTS)
        ratios = (_ratio_text(self._ratio(row, other)) for other in (JAVA, TUNED))
        judged = ", ".join(_target_text(target, row, met) for target, met in self._judged(row))
        head = (row.quantity.title, row.form.value, str(row.tasks), row.quantity.unit)
        return (*head, *measured, *ratios, judged or _NOTHING)

    def _measured(self, row: Row, contestant: Contestant) -> str:
        figures, decimals = self.figures(row, contestant), row.quantity.decimals
        if not figures:
            return "void" if contestant in row.quantity.contestants else _NOTHING
        middle = f"{statistics.median(figures):.{decimals}f}"
        if len(figures) == 1:
            return middle
        return f"{middle} ({min(figures):.{decimals}f}–{max(figures):.{decimals}f})"

    def _ratio(self, row: Row, other: Contestant) -> float | None:
        ours, theirs = self.figures(row, OURS), self.figures(row, other)
        if not ours or not theirs or statistics.median(theirs) == 0:
            return None
        return statistics.median(ours) / statistics.median(theirs)

    def _judged(self, row: Row) -> Iterator[tuple[Target, bool | None]]:
        for target in row.quantity.targets:
            if not target.tasks or row.tasks in target.tasks:
                figure = self._figure(row, target)
                yield target, None if figure is None else target.met(figure)

    def _figure(self, row: Row, target: Target) -> float | None:
        if target.against is not None:
            return self._ratio(row, target.against)
        ours = self.figures(row, OURS)
        return statistics.median(ours) if ours else None


def facts(effort: Effort, repetitions: int) -> str:
    """Return the machine, the versions, the amounts, and the settings of each side."""
    return listed_facts(
        f"{effort.lines} lines a cell, warm after {effort.warm_up}, {effort.samples} single lines, "
        f"{repetitions} repetitions in turn: median (least–most)",
        f"groups: {effort.connectors} connectors, half of them sinks, scheduled.rebalance.max.delay.ms="
        f"{MAX_DELAY_MS}, a follower is killed; idle: {effort.idle_seconds:g} s after {effort.quiet_seconds:g} s of "
        "quiet, RSS is VmRSS of all processes of a worker, added up",
        *(f"{each.name}: JVM {each.jvm}{_settings_of(each)}" for each in CONTESTANTS),
    )


def listed_facts(*more: str) -> str:
    """Return the machine and the versions, and what else the reader has to know, as a list."""
    memory = psutil.virtual_memory().total / 2**30
    load = " ".join(f"{each:.2f}" for each in os.getloadavg())
    lines = [
        f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB, {platform.system()} {platform.release()}; "
        f"load before: {load}",
        f"Python {platform.python_version()}, {_java()}, Apache Kafka {_kafka()}, PySpark {version('pyspark')}, "
        f"confluent-kafka {version('confluent-kafka')} with librdkafka {confluent_kafka.libversion()[0]}",
        f"class archive of the Spark JVM: {'there' if class_archive().exists() else 'not made: slower start'}",
        *more,
    ]
    return "\n".join(f"- {line}" for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def _ratio_text(ratio: float | None) -> str:
    return _NOTHING if ratio is None else f"{ratio:.2f}x"


def _target_text(target: Target, row: Row, met: bool | None) -> str:
    sign = "≥" if target.at_least else "≤"
    limit = f"{target.limit:g} {row.quantity.unit}" if target.against is None else f"{target.limit:g}x "
    whose = "" if target.against is None else target.against.name.removeprefix("Java ")
    return f"{sign} {limit}{whose} {_NOTHING if met is None else _MET if met else _MISSED}"


def _settings_of(contestant: Contestant) -> str:
    return settings_text({"worker": contestant.worker_props, "sources": contestant.source_props})


def settings_text(settings: Mapping[str, Properties]) -> str:
    """Return non-default settings by what they are for, to be appended to a line."""
    return "".join(
        f"; {whose}: {', '.join(f'{key}={value}' for key, value in props.items())}"
        for whose, props in settings.items()
        if props
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _java() -> str:
    release = find_java().resolve().parents[1] / "release"
    for line in release.read_text().splitlines() if release.exists() else ():
        if line.startswith("JAVA_RUNTIME_VERSION="):
            return f"Java {line.partition('=')[2].strip(chr(34))}"
    return "Java"


def _kafka() -> str:
    runtime = next(jar for jar in resolve("java-connect") if jar.name.startswith("connect-runtime-"))
    return runtime.stem.removeprefix("connect-runtime-")
