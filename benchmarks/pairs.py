"""Connectors in pairs: a source whose file has one line, and a sink that writes this line to another file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.contestants import Properties, sink, source
from benchmarks.measure import Deadline
from benchmarks.workload import access_log

_POLL_SECONDS = 0.02
_ARRIVAL_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Pair:
    """The path of one line.

    Attributes:
        input: the source's file.
        output: the sink's file; not there before the sink is.
        connectors: the source and the sink, or the source alone.
    """

    input: Path
    output: Path
    connectors: tuple[Properties, ...]

    def append(self, line: str) -> None:
        """Add a line to the source's file."""
        with self.input.open("a") as file:
            file.write(line)

    def through(self) -> bool:
        """Return whether the sink's file has the lines of the source's and no other; some may be repeated.

        A worker that is killed leaves offsets uncommitted, so that another one moves lines again.
        """
        if len(self.connectors) == 1:
            return True
        return self.output.exists() and _lines(self.output) == _lines(self.input)


class Pairs:
    """Several connectors and their files.

    Args:
        pairs: the pairs.
    """

    def __init__(self, pairs: list[Pair]) -> None:
        self.connectors = [connector for pair in pairs for connector in pair.connectors]
        self._pairs = pairs

    def append_lines(self, seed: int) -> None:
        """Add a line to each source's file; other seeds give other lines."""
        for pair, line in zip(self._pairs, access_log(len(self._pairs), seed), strict=True):
            pair.append(line)

    def await_lines(self) -> None:
        """Wait until each sink has written the line of its source. Raises `InvalidCellError` after the time limit."""
        waiting = list(self._pairs)

        def all_through() -> bool:
            while waiting and waiting[-1].through():
                waiting.pop()
            return not waiting

        aim = f"the files of all {len(self._pairs)} sinks have their sources' lines"
        Deadline(_ARRIVAL_SECONDS, aim).wait(all_through, _POLL_SECONDS)


@contextmanager
def new_pairs(bench: Bench, connectors: int) -> Iterator[Pairs]:
    """Create the topics of ``connectors`` connectors; of an odd number the last one is a source."""
    sinks = connectors // 2
    with bench.new_topics(connectors - sinks) as topics:
        pairs = Pairs([_pair(bench, topic, number < sinks) for number, topic in enumerate(topics)])
        pairs.append_lines(seed=1)
        yield pairs


def _pair(bench: Bench, topic: str, with_sink: bool) -> Pair:
    given, written = bench.path("pair-input"), bench.path("pair-output")
    reader = source(bench.name("pair-source"), given, topic)
    writer = sink(bench.name("pair-sink"), topic, written)
    return Pair(given, written, (reader, writer) if with_sink else (reader,))


def _lines(path: Path) -> set[str]:
    return set(path.read_text().splitlines())
