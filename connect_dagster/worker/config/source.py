"""Settings that the framework adds to every source connector (Java: ``SourceConnectorConfig``), and dead letters."""

from __future__ import annotations

from typing import Any

from connect_dagster.plugin.config import (
    Importance,
    Type,
    Width,
    at_least,
    config_key,
    non_empty_string,
    one_of_ignoring_case,
)
from connect_dagster.worker.config.connector import ALIASES, ERRORS, ConnectorConfig

TOPIC_CREATION = "Topic Creation"
EXACTLY_ONCE = "Exactly Once Support"
OFFSETS_TOPIC = "offsets.topic"


def _null_or_at_least_zero(name: str, value: Any) -> None:
    if value is not None:
        at_least(0)(name, value)


class SourceConnectorConfig(ConnectorConfig):
    """What every source connector may be told."""

    topic_creation_groups: tuple[str, ...] = config_key(
        "topic.creation.groups",
        type=Type.LIST,
        default=(),
        importance=Importance.LOW,
        validator=ALIASES,
        doc="Groups of topics to create; topic.creation.<group>.* configures one.",
        group=TOPIC_CREATION,
        order_in_group=1,
        width=Width.LONG,
        display_name="Topic Creation Groups",
    )
    exactly_once_support: str = config_key(
        "exactly.once.support",
        type=Type.STRING,
        default="requested",
        importance=Importance.MEDIUM,
        validator=one_of_ignoring_case("requested", "required"),
        doc="Whether the connector is refused when it cannot deliver exactly once (required).",
        group=EXACTLY_ONCE,
        order_in_group=2,
        width=Width.SHORT,
        display_name="Exactly once support",
    )
    transaction_boundary: str = config_key(
        "transaction.boundary",
        type=Type.STRING,
        default="poll",
        importance=Importance.MEDIUM,
        validator=one_of_ignoring_case("poll", "interval", "connector"),
        doc="What a transaction holds: one poll, all records of an interval, or what the connector says.",
        group=EXACTLY_ONCE,
        order_in_group=3,
        width=Width.SHORT,
        display_name="Transaction Boundary",
    )
    transaction_boundary_interval_ms: int | None = config_key(
        "transaction.boundary.interval.ms",
        type=Type.LONG,
        default=None,
        importance=Importance.LOW,
        validator=_null_or_at_least_zero,
        doc="Milliseconds of an interval for transaction.boundary=interval; unset: the worker's flush interval.",
        group=EXACTLY_ONCE,
        order_in_group=4,
        width=Width.SHORT,
        display_name="Transaction boundary interval",
    )
    offsets_storage_topic: str | None = config_key(
        "offsets.storage.topic",
        type=Type.STRING,
        default=None,
        importance=Importance.LOW,
        validator=non_empty_string,
        doc="Topic for this connector's offsets instead of the worker's; no effect in standalone mode.",
        group=OFFSETS_TOPIC,
        order_in_group=1,
        width=Width.LONG,
        display_name="Offsets topic",
    )
    dead_letter_topic: str = config_key(
        "errors.deadletterqueue.topic.name",
        type=Type.STRING,
        default="",
        importance=Importance.MEDIUM,
        doc="Topic for records that could not be handled, as they were polled; empty for none. "
        "Kafka Connect has it for sinks only.",
        group=ERRORS,
        order_in_group=6,
        width=Width.MEDIUM,
        display_name="Dead Letter Queue Topic Name",
    )
    dead_letter_replication_factor: int = config_key(
        "errors.deadletterqueue.topic.replication.factor",
        type=Type.SHORT,
        default=3,
        importance=Importance.MEDIUM,
        doc="Replication factor of that topic when it has to be created.",
        group=ERRORS,
        order_in_group=7,
        width=Width.MEDIUM,
        display_name="Dead Letter Queue Topic Replication Factor",
    )
    dead_letter_context_headers: bool = config_key(
        "errors.deadletterqueue.context.headers.enable",
        type=Type.BOOLEAN,
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether such records get headers __connect.errors.* that tell what went wrong.",
        group=ERRORS,
        order_in_group=8,
        width=Width.MEDIUM,
        display_name="Enable Error Context Headers",
    )
