"""Values for tests of the group loop: configurations, assignments, states."""

from dataclasses import replace
from typing import Any

from connect_dagster.herder.distributed.group_state import GroupState, Phase, Rules
from connect_dagster.protocol import config_records as records
from connect_dagster.protocol.config_state import ClusterConfigState, ConfigTable
from connect_dagster.protocol.group_structs import (
    NO_ERROR,
    Assignment,
    ConnectProtocol,
    assigned_entries,
    revoked_entries,
)
from connect_dagster.protocol.states import TargetState, TaskId
from connect_dagster.protocol.work import Work

ME, OTHER = "member-1", "member-2"
LEADER_URL = "http://leader/"
OFFSET = 50
NOTHING = Work()
RULES = Rules(topic_tracking=True, unsync_backoff_ms=300_000, max_delay_ms=60_000)


def work(*names: str) -> Work:
    """Connectors (``a``) and tasks (``a-0``)."""
    tasks = tuple(TaskId(name[:-2], int(name[-1])) for name in names if "-" in name)
    return Work(tuple(name for name in names if "-" not in name), tasks)


def configured(offset: int = OFFSET, targets: dict[str, TargetState] | None = None, **tasks: int) -> ClusterConfigState:
    """A configuration of connectors with so many tasks each, read up to an offset."""
    table = ConfigTable()
    entries: list[tuple[str, bytes]] = []
    for name, target in (targets or {}).items():
        entries.append((records.target_state_key(name), records.target_state_value(target)))
    for name, count in tasks.items():
        entries.append((records.connector_key(name), records.properties_value({"name": name})))
        ids = [TaskId(name, number) for number in range(count)]
        entries += [(records.task_key(id), records.properties_value({"task": str(id)})) for id in ids]
        entries.append((records.commit_key(name), records.commit_value(count)))
    first = offset - len(entries)
    assert first >= 0
    for number, (key, value) in enumerate(entries):
        assert table.apply(key, value, first + number).problem is None
    if not entries:
        table.apply(records.logger_key("some.logger"), records.logger_value("INFO"), offset - 1)
    return table.snapshot()


CONFIG = configured(a=2, b=1)
ALL = work("a", "b", "a-0", "a-1", "b-0")


def told(
    assigned: Work = NOTHING,
    revoked: Work = NOTHING,
    *,
    error: int = NO_ERROR,
    offset: int = OFFSET,
    delay: int = 0,
    leader: str = ME,
    protocol: ConnectProtocol = ConnectProtocol.SESSIONED,
) -> Assignment:
    """An assignment as a leader makes it."""
    entries = assigned_entries(assigned)
    if protocol is ConnectProtocol.EAGER:
        return Assignment(protocol.version, error, leader, LEADER_URL, offset, entries)
    return Assignment(protocol.version, error, leader, LEADER_URL, offset, entries, revoked_entries(revoked), delay)


def outside(phase: Phase = Phase.IDLE, **changes: Any) -> GroupState:
    """A worker that is not a member."""
    return replace(GroupState(RULES, ConnectProtocol.SESSIONED, phase, CONFIG), **changes)


def member(phase: Phase = Phase.IDLE, owned: Work = ALL, **changes: Any) -> GroupState:
    """A worker that runs all that it owns."""
    state = GroupState(
        RULES,
        ConnectProtocol.SESSIONED,
        phase,
        CONFIG,
        generation=7,
        assignment=told(owned),
        owned=owned,
        running=owned,
        carried_out=True,
    )
    return replace(state, **changes)


def joined(assignment: Assignment, owned: Work = ALL, running: Work = NOTHING, **changes: Any) -> GroupState:
    """A worker that has a new assignment, and has not acted on it yet."""
    changes = {"phase": Phase.JOINED, "running": running, "carried_out": False, **changes}
    return replace(member(owned=owned, assignment=assignment), **changes)
