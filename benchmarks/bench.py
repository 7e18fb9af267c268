"""The common environment of a run's cells: the broker, the lines, the amounts, unused names."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from benchmarks.contestants import Contestant, Properties, Running, running, running_member
from benchmarks.topics import Topics
from benchmarks.workload import Format, LogFile, Workload


@dataclass(frozen=True, slots=True)
class Effort:
    """Amounts for each figure.

    Attributes:
        lines: of a bulk cell, in all its files together.
        warm_up: lines that a worker has moved before it counts as warm.
        samples: single lines whose latency is taken.
        connectors: of a group, and the most of an idle worker.
        quiet_seconds: how long a worker has had nothing to do before it counts as idle.
        idle_seconds: how long an idle worker is measured.
    """

    lines: int
    warm_up: int
    samples: int
    connectors: int
    quiet_seconds: float
    idle_seconds: float


@dataclass(frozen=True, slots=True)
class Bench:
    """The environment of the cells.

    Attributes:
        bootstrap: the broker.
        folder: for files of workers and sinks; removed after the run.
        topics: of the broker.
        workload: the lines.
        effort: how much of them.
    """

    bootstrap: str
    folder: Path
    topics: Topics
    workload: Workload
    effort: Effort
    _numbers: Iterator[int] = field(default_factory=count)
    _filled: dict[tuple[Format, int], list[str]] = field(default_factory=dict)

    def name(self, what: str) -> str:
        """Return an unused name for a topic, connector or file."""
        return f"{what}-{next(self._numbers)}"

    def path(self, what: str) -> Path:
        """Return a path for a file that does not exist yet."""
        return self.folder / self.name(what)

    def worker(
        self, contestant: Contestant, form: Format, connectors: Sequence[Properties] = ()
    ) -> AbstractContextManager[Running]:
        """Start a fresh worker."""
        return running(contestant, form, self.bootstrap, self.path("worker"), connectors)

    def member(self, contestant: Contestant, form: Format, group: Properties) -> AbstractContextManager[Running]:
        """Start a fresh worker of a group, with the settings that its workers share."""
        return running_member(contestant, form, self.bootstrap, self.path("worker"), group)

    @contextmanager
    def new_topics(self, number: int) -> Iterator[list[str]]:
        """Create empty topics for the duration of the context."""
        names = [self.name("topic") for _ in range(number)]
        self.topics.create(names)
        try:
            yield names
        finally:
            self.topics.delete(names)

    def filled_topics(self, form: Format, parts: int) -> list[tuple[str, LogFile]]:
        """Create topics that hold the log in ``parts`` parts, each with its part; all contestants share them."""
        files = self.workload.files(parts)
        if (form, parts) not in self._filled:
            names = [self.name("filled") for _ in files]
            self.topics.create(names)
            for name, file in zip(names, files, strict=True):
                self.topics.fill(name, map(form.encode, file.blocks()))
            self._filled[form, parts] = names
        return list(zip(self._filled[form, parts], files, strict=True))
