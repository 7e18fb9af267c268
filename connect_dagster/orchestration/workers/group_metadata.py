"""Metadata of a group and its topics: tables and numbers, without values of configurations."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dagster import MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.client.masking import mask_text
from connect_dagster.orchestration.workers.group import WorkerGroup
from connect_dagster.orchestration.workers.group_topics import StoredConfig, StoredConfigs, StoredOffset, StoredStatus
from connect_dagster.protocol.states import State


def group_metadata(group: WorkerGroup) -> dict[str, Any]:
    """Return the members of the group, and its numbers."""
    members = [
        {
            "member_id": member.member_id,
            "client_host": member.client_host,
            "rest_url": member.rest_url or "",
            "leader": member.leader,
            "config_offset": _number(member.config_offset),
            "generation": _number(member.generation),
            "connectors": ", ".join(member.connectors),
            "tasks": ", ".join(member.tasks),
        }
        for member in group.members
    ]
    known = {
        "generation": group.generation,
        "config_offset": group.config_offset,
        "leader": group.leader,
        "leader_url": MetadataValue.url(group.leader_url) if group.leader_url else None,
        "protocol": group.protocol,
    }
    return {
        "state": group.state,
        "members": _table(members, ("config_offset", "generation"), ("leader",)),
        "member_count": len(members),
        "connector_count": sum(len(member.connectors) for member in group.members),
        "task_count": sum(len(member.tasks) for member in group.members),
        **{name: value for name, value in known.items() if value is not None},
    }


def configs_metadata(configs: StoredConfigs) -> dict[str, Any]:
    """Return the number of tasks and the names of properties per connector."""
    connectors = configs.connectors.values()
    rows = [
        {
            "connector": stored.connector,
            "target_state": stored.target_state,
            "tasks": stored.task_count,
            "consistent": stored.consistent,
            "properties": ", ".join(sorted(stored.config)),
        }
        for stored in connectors
    ]
    return {
        "connectors": _table(rows, ("tasks",), ("consistent",)),
        "connector_count": len(rows),
        "task_count": sum(stored.task_count for stored in connectors),
        "config_offset": configs.offset,
    }


def offsets_metadata(offsets: Sequence[StoredOffset]) -> dict[str, Any]:
    """Return each partition with its offset per connector."""
    rows = [
        {"connector": stored.connector, "partition": _json(stored.partition), "offset": _json(stored.offset)}
        for stored in offsets
    ]
    return {
        "offsets": _table(rows),
        "partition_count": len(rows),
        "connector_count": len({stored.connector for stored in offsets}),
    }


def statuses_metadata(statuses: Sequence[StoredStatus], configs: StoredConfigs) -> dict[str, Any]:
    """Return the state and its generation per connector and task.

    Args:
        statuses: What workers reported.
        configs: The connectors' configurations, whose secrets traces may quote.
    """
    rows = [
        {
            "connector": status.connector,
            "task": "" if status.task is None else str(status.task),
            "state": status.state.value,
            "worker_id": status.worker_id,
            "generation": status.generation,
            "version": status.version or "",
            "trace": _first_line(status, configs.connectors.get(status.connector)),
        }
        for status in statuses
    ]
    tasks = [status for status in statuses if status.task is not None]
    return {
        "states": _table(rows, ("generation",)),
        "connector_count": len(statuses) - len(tasks),
        "task_count": len(tasks),
        "tasks_failed": sum(status.state is State.FAILED for status in tasks),
        "generation": max((status.generation for status in statuses), default=0),
    }


def _first_line(status: StoredStatus, stored: StoredConfig | None) -> str:
    return mask_text((status.trace or "").partition("\n")[0], [stored.config] if stored else [])


def _table(rows: Sequence[Mapping[str, Any]], numbers: Iterable[str] = (), flags: Iterable[str] = ()) -> MetadataValue:
    types = {**dict.fromkeys(numbers, "int"), **dict.fromkeys(flags, "bool")}
    columns = [TableColumn(name, types.get(name, "string")) for name in (rows[0] if rows else ())]
    return MetadataValue.table([TableRecord(dict(row)) for row in rows], TableSchema(columns))


def _json(value: Mapping[str, Any]) -> str:
    return mask_text(json.dumps(value, ensure_ascii=False))


def _number(value: int | None) -> int:
    """Return the value, or -1 when it is unknown: a column has one type."""
    return -1 if value is None else value
