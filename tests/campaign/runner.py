"""Play turns on stages, one act after the other, and watch after each fault until all is well or time is up."""

import json
import shutil
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from confluent_kafka import KafkaException

from connect_dagster.embedded.errors import EmbeddedError
from tests.campaign.faults import NotQuietError, play
from tests.campaign.flows import SINK, TOPIC
from tests.campaign.group import all_running, failed
from tests.campaign.ledger import ranges
from tests.campaign.outcomes import Journal, Outcome
from tests.campaign.report import JAVA, progress
from tests.campaign.schedule import Fault, Schedule, Turn
from tests.campaign.stage import Stage

_POLL_SECONDS = 0.2
_RESTART_SECONDS = 5.0
_MOST_NOTE = 2_000
# Stages that did not begin, in a row: the machine lacks something.
_MOST_FAILURES = 3
_KEPT = ("worker-*/*.log", "broker/broker.log")
# Errors of a fault on a machine that is too busy.
_NOT_DONE = (NotQuietError, TimeoutError, EmbeddedError, KafkaException)


class StageError(Exception):
    """Raised when the processes of an act did not come up."""


class Campaign:
    """A schedule whose outcomes go to a journal.

    Args:
        schedule: of all faults.
        journal: of their outcomes.
        patience: seconds after a fault until a record that has not arrived counts as lost or stuck.
        say: called with each line about the progress.
    """

    def __init__(self, schedule: Schedule, journal: Journal, patience: float, say: Callable[[str], None]) -> None:
        self._schedule = schedule
        self._journal = journal
        self._patience = patience
        self._say = say
        self._failures = 0

    def play(self, turns: Iterator[Turn], until: float) -> None:
        """Play the turns without an outcome, while `time.monotonic()` is below `until`.

        Raises:
            StageError: stages did not begin, several in a row.
        """
        left = self._journal.left(list(turns))
        length = self._schedule.act_length
        for (side, _), act in groupby(left, key=lambda turn: (turn.side, turn.number // length)):
            waiting = list(act)
            while waiting and time.monotonic() < until:
                waiting = self._play_act(side, waiting, until)

    def _play_act(self, side: str, turns: list[Turn], until: float) -> list[Turn]:
        """Play faults on one stage, until one ends badly; return those that are left for another stage."""
        act = self._schedule.act(turns[0].number)
        folder = self._journal.folder / f"stage-{side}-{turns[0].number}"
        shutil.rmtree(folder, ignore_errors=True)
        left = list(turns)
        self._say(f"{side}: {act}")
        try:
            with Stage(folder, act, java=side == JAVA) as stage:
                self._settle(stage)
                self._failures = 0
                while left and time.monotonic() < until:
                    fault = self._schedule.fault(left[0].number)
                    outcome = self._bear(stage, side, fault)
                    left.pop(0)
                    self._write_down(outcome)
                    if outcome.ended or not outcome.good:
                        _keep_evidence(stage, self._evidence(outcome))
                    if not outcome.good:
                        break
        except Exception as error:
            # Whatever it was, the campaign continues with the next fault; the trace is kept with the logs.
            outcome = _not_played(side, self._schedule.fault(left.pop(0).number), act.about, error)
            self._write_down(outcome)
            _keep_logs(folder, self._evidence(outcome))
            (self._evidence(outcome) / "error.txt").write_text(traceback.format_exc())
            self._failures += 1
            if self._failures == _MOST_FAILURES:
                raise StageError(f"{_MOST_FAILURES} stages in a row did not begin: {error}") from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return left

    def _write_down(self, outcome: Outcome) -> None:
        self._journal.add(outcome)
        self._say(progress(outcome))

    def _evidence(self, outcome: Outcome) -> Path:
        folder = self._journal.folder / f"fault-{outcome.side}-{outcome.number}"
        folder.mkdir(exist_ok=True)
        return folder

    def _settle(self, stage: Stage) -> None:
        """Wait until all connectors run and all records flow.

        Raises:
            StageError: they never did.
        """
        watch = _Watch(stage, self._patience)
        watch.wait()
        if not watch.recovered:
            raise StageError(f"the act did not begin: {stage.group.parts()}")

    def _bear(self, stage: Stage, side: str, fault: Fault) -> Outcome:
        time.sleep(fault.quiet)
        stage.look()
        before = _Duplicates.of(stage)
        at, note = datetime.now(UTC).isoformat(timespec="seconds"), ""
        try:
            play(stage, fault)
        except _NOT_DONE as error:
            note = f"{type(error).__name__}: {error}"[:_MOST_NOTE]
            stage.restore()
        watch = _Watch(stage, self._patience)
        watch.wait()
        lost, stuck = watch.not_arrived()
        grown = _Duplicates.of(stage)
        return Outcome(
            side=side,
            number=fault.number,
            kind=fault.kind,
            at=at,
            flow=fault.flow,
            worker=fault.worker,
            seconds=fault.seconds,
            workers=stage.act.about,
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
    """A watch over a stage from the end of a fault until all is well; it restarts FAILED parts, as a user would.

    Args:
        stage: where the fault was.
        patience: seconds to wait at most.
    """

    def __init__(self, stage: Stage, patience: float) -> None:
        self._stage = stage
        self._patience = patience
        self._began = time.monotonic()
        self._restarted = self._began
        self._ends = {flow.name: flow.ledger.written for flow in stage.flows}
        self.running: float | None = None
        self.caught_up: float | None = None
        self.failed = self.ended = 0

    @property
    def recovered(self) -> bool:
        """Return whether all connectors run and all records have arrived."""
        return self.running is not None and self.caught_up is not None

    def wait(self) -> None:
        """Watch until all is well or the time is over."""
        until = self._began + self._patience
        while not self.recovered and time.monotonic() < until:
            self._look()
            self._look_at_states()
            if self.caught_up is None and not self._missing():
                self.caught_up = self._passed()
            time.sleep(_POLL_SECONDS)

    def not_arrived(self) -> tuple[int, int]:
        """Return the number of lost records, and of those that were only stuck: a restart of all connectors moved them.

        Records behind which none has arrived count as stuck too.
        """
        if not (before := self._missing()):
            return 0, 0
        for name in self._stage.names:
            self._ask("POST", f"/connectors/{name}/restart?includeTasks=true")
        until = time.monotonic() + self._patience / 2
        while self._missing() and time.monotonic() < until:
            self._look()
            time.sleep(_POLL_SECONDS)
        lost = set()
        for flow in self._stage.flows:
            for place in (TOPIC, SINK):
                lost |= {(flow.name, number) for number in flow.ledger.overtaken(place, self._ends[flow.name])}
        return len(lost), len(before - lost)

    def _look(self) -> None:
        self.ended += self._stage.group.start_ended()
        self._stage.look()

    def _missing(self) -> set[tuple[str, int]]:
        return {
            (flow.name, number)
            for flow in self._stage.flows
            for place in (TOPIC, SINK)
            for number in flow.ledger.missing(place, self._ends[flow.name])
        }

    def _look_at_states(self) -> None:
        """Note since when all have been RUNNING; statuses from before the fault may be reported for a while."""
        group, parts = self._stage.group, self._stage.group.parts()
        workers = [member.id for member in group.members if member.runs]
        if all_running(parts, self._stage.names, workers):
            self.running = self._passed() if self.running is None else self.running
            return
        self.running = None
        if time.monotonic() - self._restarted > _RESTART_SECONDS and (found := failed(parts)):
            self._restarted = time.monotonic()
            self.failed += sum(found.values())
            for name in found:
                self._ask("POST", f"/connectors/{name}/restart?includeTasks=true&onlyFailed=true")

    def _ask(self, method: str, target: str) -> None:
        # Time is up sooner or later, whatever the workers refuse.
        with suppress(TimeoutError):
            self._stage.group.ask(method, target)

    def _passed(self) -> float:
        return round(time.monotonic() - self._began, 2)


@dataclass(frozen=True, slots=True)
class _Duplicates:
    """The number of repeated arrivals so far, in all flows of a stage."""

    topic: int
    sink: int

    @classmethod
    def of(cls, stage: Stage) -> "_Duplicates":
        ledgers = [flow.ledger for flow in stage.flows]
        return cls(sum(one.duplicates(TOPIC) for one in ledgers), sum(one.duplicates(SINK) for one in ledgers))


def _not_played(side: str, fault: Fault, workers: str, error: Exception) -> Outcome:
    return Outcome(
        side=side,
        number=fault.number,
        kind=fault.kind,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        flow=fault.flow,
        worker=fault.worker,
        seconds=fault.seconds,
        workers=workers,
        running=None,
        caught_up=None,
        note=f"not played: {type(error).__name__}: {error}"[:_MOST_NOTE],
    )


def _keep_evidence(stage: Stage, kept: Path) -> None:
    """Copy the logs of a stage before its removal, with the states and the missing numbers."""
    _keep_logs(stage.folder, kept)
    missing = {
        flow.name: {place: ranges(flow.ledger.missing(place)) for place in (TOPIC, SINK)} for flow in stage.flows
    }
    found = {"parts": stage.group.parts(), "missing": missing}
    (kept / "stage.json").write_text(json.dumps(found, indent=1) + "\n")


def _keep_logs(stage: Path, kept: Path) -> None:
    for pattern in _KEPT:
        for log in stage.glob(pattern):
            target = kept / log.relative_to(stage)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(log, target)
