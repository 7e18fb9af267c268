"""Heartbeats: records with which the offset moves on (Debezium: ``HeartbeatImpl``)."""

from __future__ import annotations

from connect_dagster.connectors.mysql.records.service_records import HEARTBEAT_KEY_SCHEMA, HEARTBEAT_VALUE_SCHEMA
from connect_dagster.connectors.mysql.records.service_tables import ServiceRecord, service_table
from connect_dagster.plugin.frames import SourceTable

_FIRST_PARTITION = 0


def heartbeat_batch(topic: str, server: str, milliseconds: int) -> SourceTable:
    """Return a heartbeat as a batch without an offset.

    Args:
        topic: of the record.
        server: ``topic.prefix``.
        milliseconds: present time since 1970.
    """
    record = ServiceRecord({"serverName": server}, {"ts_ms": milliseconds})
    rows = service_table([record], HEARTBEAT_KEY_SCHEMA, HEARTBEAT_VALUE_SCHEMA, partition=_FIRST_PARTITION)
    return SourceTable(
        rows, {}, None, topic=topic, value_schema=HEARTBEAT_VALUE_SCHEMA, key_schema=HEARTBEAT_KEY_SCHEMA
    )
