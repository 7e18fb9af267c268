"""Snapshot modes: what each reads, when, and what a connector does at its start.

Debezium: the classes of ``io.debezium.snapshot.mode`` and ``BaseSourceTask.validateSchemaHistory``. A mode is a row of
:data:`MODES`; :func:`decide` is the only reader of the rows. Nothing here knows a server or a topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from connect_dagster.errors import ConnectError


class Stored(Enum):
    """The offset that a connector finds at its start."""

    NOTHING = "nothing"
    UNFINISHED = "a snapshot that was not finished"
    POSITION = "a position of the binary log"


class When(Enum):
    """When a part of a snapshot is taken."""

    NEVER = "never"
    ALWAYS = "at each start"
    UNFINISHED = "until a snapshot is finished"

    def applies(self, stored: Stored) -> bool:
        """Return whether the part is taken with such an offset."""
        return self is When.ALWAYS or (self is When.UNFINISHED and stored is not Stored.POSITION)


class SnapshotMode(Enum):
    """``snapshot.mode``, with the value ``never`` of Debezium 1.x."""

    ALWAYS = "always"
    WHEN_NEEDED = "when_needed"
    INITIAL = "initial"
    NO_DATA = "no_data"
    RECOVERY = "recovery"
    INITIAL_ONLY = "initial_only"
    CONFIGURATION_BASED = "configuration_based"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class SnapshotPlan:
    """Parts of a snapshot with their times, and what follows it.

    Attributes:
        data: when rows are read.
        schema: when the structure of tables is read.
        streams: whether the binary log is read after it.
        again_without_history: whether the structure is read again where the schema history is lost.
        again_without_position: whether all is read again where the server has no longer the stored position.
        streams_from_snapshot: whether the log is read from the snapshot's position, not from the stored one.
        needs_offset: whether there must be a stored position.
    """

    data: When
    schema: When
    streams: bool = True
    again_without_history: bool = False
    again_without_position: bool = False
    streams_from_snapshot: bool = True
    needs_offset: bool = False


_INITIAL = SnapshotPlan(When.UNFINISHED, When.UNFINISHED)
MODES: Mapping[SnapshotMode, SnapshotPlan] = {
    SnapshotMode.ALWAYS: SnapshotPlan(When.ALWAYS, When.ALWAYS),
    SnapshotMode.WHEN_NEEDED: SnapshotPlan(
        When.UNFINISHED, When.UNFINISHED, again_without_history=True, again_without_position=True
    ),
    SnapshotMode.INITIAL: _INITIAL,
    SnapshotMode.INITIAL_ONLY: SnapshotPlan(When.UNFINISHED, When.UNFINISHED, streams=False),
    SnapshotMode.NO_DATA: SnapshotPlan(When.NEVER, When.UNFINISHED),
    SnapshotMode.RECOVERY: SnapshotPlan(
        When.NEVER, When.ALWAYS, again_without_history=True, streams_from_snapshot=False, needs_offset=True
    ),
    SnapshotMode.NEVER: SnapshotPlan(When.NEVER, When.NEVER),
}
"""Every mode but ``configuration_based``, whose plan is in its switches."""


@dataclass(frozen=True, slots=True)
class Found:
    """State that a connector finds at its start.

    Attributes:
        stored: the offset.
        history: whether the schema history has records.
        missing: log that the server no longer has after the stored position, in words; ``None`` for none.
    """

    stored: Stored
    history: bool = True
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """Steps of a connector's start.

    Attributes:
        data: whether rows are read.
        schema: whether the structure of tables is read.
        streams: whether the binary log is read after it.
        from_snapshot: whether that begins at the snapshot's position; otherwise at the stored one or, where nothing is
            stored, at the beginning of the log.
    """

    data: bool
    schema: bool
    streams: bool
    from_snapshot: bool


def decide(plan: SnapshotPlan, found: Found) -> Start:
    """Return what to do at a connector's start.

    Raises:
        ConnectError: the mode does not allow for what was found; the text has the mode that does.
    """
    if found.stored is Stored.NOTHING and plan.needs_offset:
        raise ConnectError(
            "snapshot.mode=recovery needs a stored offset, and there is none: begin with snapshot.mode=initial or "
            "no_data"
        )
    if found.stored is Stored.UNFINISHED and not _allows_snapshots(plan):
        raise ConnectError(
            "The last snapshot was not finished, and the snapshot mode does not allow for another: set snapshot.mode "
            "to initial or when_needed"
        )
    if found.stored is Stored.POSITION and found.missing is not None and plan.streams:
        return _without_position(plan, found.missing)
    if found.stored is Stored.POSITION and not found.history:
        return _without_history(plan)
    return _start(plan, found.stored)


def _allows_snapshots(plan: SnapshotPlan) -> bool:
    return plan.data.applies(Stored.UNFINISHED) or plan.schema.applies(Stored.UNFINISHED)


def _without_history(plan: SnapshotPlan) -> Start:
    if not plan.again_without_history:
        raise ConnectError(
            "There is a stored offset, but no schema history: the topic schema.history.internal.kafka.topic is missing "
            "or empty. If no table changed its structure since then, set snapshot.mode=recovery for one start"
        )
    data = plan.data.applies(Stored.POSITION)
    return Start(data, True, plan.streams, plan.streams_from_snapshot and data)


def _without_position(plan: SnapshotPlan, missing: str) -> Start:
    if not plan.again_without_position:
        raise ConnectError(
            f"The server no longer has the binary log of the stored position: {missing}. Set snapshot.mode=when_needed "
            "to take a new snapshot"
        )
    return _start(plan, Stored.NOTHING)


def _start(plan: SnapshotPlan, stored: Stored) -> Start:
    data, schema = plan.data.applies(stored), plan.schema.applies(stored)
    return Start(data, schema, plan.streams, plan.streams_from_snapshot and (data or schema))
