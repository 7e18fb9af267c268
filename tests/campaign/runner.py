"""Plays turns on stages, one act after the other, and looks after each fault until all is well or time is up."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from confluent_kafka import KafkaException

from connect_dagster.embedded.errors import EmbeddedError
from tests.campaign.faults import NotQuietError, play
from tests.campaign.flows import SINK, TOPIC
from tests.campaign.group import all_running, failed
from tests.campaign.outcomes import Journal, Outcome
from tests.campaign.report import JAVA
from tests.campaign.schedule import ACT_LENGTH, Fault, Schedule, Turn
from tests.campaign.stage import Stage

_POLL_SECONDS = 0.2
_RESTART_SECONDS = 5.0
_KEPT = ("worker-*/*.log", "broker/broker.log")


class StageError(Exception):
    """The processes of an act did not come up."""


# What a fault or the start of an act may end with on a machine that is too busy; anything else ends the campaign.
_NOT_DONE = (NotQuietError, TimeoutError, EmbeddedError, KafkaException)
_NO_STAGE = (StageError, TimeoutError, AssertionError, RuntimeError, EmbeddedError, KafkaException)


@dataclass(frozen=True, slots=True)
class Campaign:
    """A schedule that is played into a journal.

    Attributes:
        schedule: of all faults.
        journal: of what they cost.
        patience: seconds after a fault until what has not arrived counts as lost or stuck.
        root: whether networks and small disks can be made.
        told: what each outcome is handed to.
    """

    schedule: Schedule
    journal: Journal
    patience: float
    root: bool
    told: Callable[[Outcome], None]

    def play(self, turns: Iterator[Turn], until: float) -> None:
        """Play the turns that have no outcome yet, as long as `time.monotonic()` is below `until`."""
        left = self.journal.left(list(turns))
        for (side, _), act in groupby(left, key=lambda turn: (turn.side, turn.number // ACT_LENGTH)):
            waiting = list(act)
            while waiting and time.monotonic() < until:
                waiting = self._play_act(side, waiting, until)

    def _play_act(self, side: str, turns: list[Turn], until: float) -> list[Turn]:
        """Play faults on one stage, until one ends badly; returns those that are left for another stage."""
        folder = self.journal.folder / f"stage-{side}-{turns[0].number}"
        shutil.rmtree(folder, ignore_errors=True)
        left = list(turns)
        try:
            with Stage(folder, self.schedule.act(turns[0].number), java=side == JAVA, root=self.root) as stage:
                self._settle(stage)
                while left and time.monotonic() < until:
                    outcome = self._bear(stage, side, self.schedule.fault(left[0].number))
                    self._note(outcome, folder)
                    left.pop(0)
                    if not outcome.good:
                        break
        except _NO_STAGE as error:
            if left:
                self._note(_not_played(side, self.schedule.fault(left.pop(0).number), str(error)), folder)
        shutil.rmtree(folder, ignore_errors=True)
        return left

    def _note(self, outcome: Outcome, folder: Path) -> None:
        self.journal.add(outcome)
        self.told(outcome)
        if not outcome.good:
            _keep_logs(folder, self.journal.folder / f"fault-{outcome.side}-{outcome.number}")

    def _settle(self, stage: Stage) -> None:
        """Wait until all runs and flows.

        Raises:
            StageError: it never did.
        """
        watch = _Watch(stage, self.patience)
        watch.wait()
        if not watch.recovered:
            raise StageError(f"the act did not begin: {stage.group.parts()}")

    def _bear(self, stage: Stage, side: str, fault: Fault) -> Outcome:
        time.sleep(fault.quiet)
        stage.look()
        before = _Duplicates.of(stage)
        note = ""
        try:
            play(stage, fault)
        except _NOT_DONE as error:
            note = f"{type(error).__name__}: {error}"
        watch = _Watch(stage, self.patience)
        watch.wait()
        lost, stuck = watch.not_arrived()
        grown = _Duplicates.of(stage)
        return Outcome(
            side=side,
            number=fault.number,
            kind=fault.kind,
            seconds=fault.seconds,
            workers=stage.about,
            running=watch.running,
            caught_up=watch.caught_up,
            lost=lost,
            stuck=stuck,
            topic_duplicates=grown.topic - before.topic,
            sink_duplicates=grown.sink - before.sink,
            failed=watch.failed,
            ended=watch.ended,
            temporary=stage.temporary(),
            orphans=stage.orphans(),
            footprints=stage.group.footprints(),
            note=note,
        )


class _Watch:
    """Looks at a stage from the end of a fault until all is well, and restarts what a user would restart.

    Args:
        stage: where the fault was.
        patience: seconds to wait at most.
    """

    def __init__(self, stage: Stage, patience: float) -> None:
        self._stage = stage
        self._began = time.monotonic()
        self._until = self._began + patience
        self._restarted = self._began
        self._ends = {flow.name: flow.ledger.written for flow in stage.flows}
        self.running: float | None = None
        self.caught_up: float | None = None
        self.failed = self.ended = 0

    @property
    def recovered(self) -> bool:
        """Whether all run and all has arrived."""
        return self.running is not None and self.caught_up is not None

    def wait(self) -> None:
        """Look until all is well or the time is over."""
        while not self.recovered and time.monotonic() < self._until:
            self.ended += self._stage.group.start_ended()
            self._stage.look()
            if self.caught_up is None and not any(self._missing(place) for place in (TOPIC, SINK)):
                self.caught_up = self._passed()
            if self.running is None:
                self._look_at_states()
            time.sleep(_POLL_SECONDS)

    def not_arrived(self) -> tuple[int, int]:
        """How many records were lost, overtaken by later ones, and how many further ones did not come in time."""
        lost = stuck = 0
        for flow in self._stage.flows:
            ledger, end = flow.ledger, self._ends[flow.name]
            overtaken = {number for place in (TOPIC, SINK) for number in ledger.overtaken(place, end)}
            missing = {number for place in (TOPIC, SINK) for number in ledger.missing(place, end)}
            lost += len(overtaken)
            stuck += len(missing - overtaken)
        return lost, stuck

    def _missing(self, place: str) -> bool:
        return any(flow.ledger.missing(place, self._ends[flow.name]) for flow in self._stage.flows)

    def _look_at_states(self) -> None:
        group, parts = self._stage.group, self._stage.group.parts()
        workers = [member.id for member in group.members if not member.away and not member.ended]
        if all_running(parts, self._stage.names, workers):
            self.running = self._passed()
        elif time.monotonic() - self._restarted > _RESTART_SECONDS and (found := failed(parts)):
            self._restarted = time.monotonic()
            self.failed += sum(found.values())
            for name in found:
                group.ask("POST", f"/connectors/{name}/restart?includeTasks=true&onlyFailed=true")

    def _passed(self) -> float:
        return round(time.monotonic() - self._began, 2)


@dataclass(frozen=True, slots=True)
class _Duplicates:
    """How many records came more than once so far, in all flows of a stage."""

    topic: int
    sink: int

    @classmethod
    def of(cls, stage: Stage) -> "_Duplicates":
        ledgers = [flow.ledger for flow in stage.flows]
        return cls(sum(one.duplicates(TOPIC) for one in ledgers), sum(one.duplicates(SINK) for one in ledgers))


def _not_played(side: str, fault: Fault, note: str) -> Outcome:
    return Outcome(side, fault.number, fault.kind, fault.seconds, "0", running=None, caught_up=None, note=note[:2000])


def _keep_logs(stage: Path, kept: Path) -> None:
    """Copy the logs of a stage that is about to be removed."""
    for pattern in _KEPT:
        for log in stage.glob(pattern):
            target = kept / log.relative_to(stage)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(log, target)
