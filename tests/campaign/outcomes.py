"""The outcome of a fault as a line of JSON, and the journal of a campaign, from which it continues."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tests.campaign.schedule import Turn


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resources of a worker with its JVM.

    Attributes:
        process: one start of a worker: its place in the group and its process id.
        age: seconds since that start.
        memory: resident, bytes.
        descriptors: open files and connections.
        threads: of all its processes.
    """

    process: str
    age: float
    memory: int
    descriptors: int
    threads: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one fault.

    Attributes:
        side: `ours` or `java`.
        number: of the fault.
        kind: of the fault.
        at: when it began, ISO 8601 in UTC.
        flow: the flow that it struck, for kinds that strike one.
        worker: the worker that it struck, for kinds that strike one: `worker-<n>` in the stage's folder.
        seconds: duration of the fault.
        workers: number of the group's, with `+java` when one was Java's and `+network` when one was behind a network;
            then the flows.
        running: seconds from its end until all connectors and tasks were RUNNING by REST; `None` when they never were.
        caught_up: seconds from its end until all records written before had arrived everywhere; `None` without that.
        lost: records that did not arrive although later ones did.
        stuck: further records that did not arrive in time.
        topic_duplicates: records that came more than once to a topic.
        sink_duplicates: records that came more than once out of a sink.
        failed: tasks and connectors that had to be restarted because they were FAILED.
        ended: workers that ended by themselves and were started again.
        temporary: entries of temporary folders.
        orphans: processes that no worker has any more.
        footprints: of all workers, once all had arrived.
        note: the reason why a fault could not be played as drawn; empty for others.
    """

    side: str
    number: int
    kind: str
    at: str
    flow: str
    worker: int
    seconds: float
    workers: str
    running: float | None
    caught_up: float | None
    lost: int = 0
    stuck: int = 0
    topic_duplicates: int = 0
    sink_duplicates: int = 0
    failed: int = 0
    ended: int = 0
    temporary: int = 0
    orphans: int = 0
    footprints: tuple[Footprint, ...] = ()
    note: str = ""

    @property
    def good(self) -> bool:
        """Return whether it was played as drawn, nothing was lost and nothing got stuck."""
        recovered = self.running is not None and self.caught_up is not None
        return recovered and not self.lost and not self.stuck and not self.note

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return the outcome of a document of a journal."""
        footprints = tuple(Footprint(**each) for each in document["footprints"])
        return cls(**{**document, "footprints": footprints})


class Journal:
    """The outcomes of one campaign in a folder; a campaign that was begun there continues.

    Args:
        folder: of the campaign; made when missing.
        settings: of the schedule.
        lane: number of the lane; each writes to a separate file.

    Raises:
        ValueError: the folder has a campaign with other settings.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any], lane: int = 0) -> None:
        self.folder = folder
        self._file = folder / (f"outcomes-{lane}.jsonl" if lane else "outcomes.jsonl")
        folder.mkdir(parents=True, exist_ok=True)
        there = folder / "settings.json"
        if not there.exists():
            there.write_text(json.dumps(settings) + "\n")
        elif (found := json.loads(there.read_text())) != json.loads(json.dumps(settings)):
            raise ValueError(f"{folder} has a campaign with {found}, not with {settings}")

    def outcomes(self) -> list[Outcome]:
        """Return all outcomes in order; a line that was cut off while it was written is left out."""
        lines = (line for file in self.folder.glob("outcomes*.jsonl") for line in file.read_text().splitlines(True))
        found = [Outcome.of(json.loads(line)) for line in lines if line[-1:] == "\n"]
        return sorted(found, key=lambda one: (one.number, one.side != "ours"))

    def add(self, outcome: Outcome) -> None:
        """Append an outcome."""
        self._end_cut_line()
        with self._file.open("a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")

    def left(self, turns: Iterator[Turn] | Sequence[Turn]) -> Iterator[Turn]:
        """Yield the turns without an outcome."""
        done = {(outcome.side, outcome.number) for outcome in self.outcomes()}
        yield from (turn for turn in turns if (turn.side, turn.number) not in done)

    def _end_cut_line(self) -> None:
        if self._file.exists() and (text := self._file.read_text()) and text[-1] != "\n":
            self._file.write_text(text[: text.rfind("\n") + 1])
