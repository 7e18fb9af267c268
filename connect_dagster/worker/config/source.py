"""Settings that the framework adds to every source connector (Java: ``SourceConnectorConfig``), and dead letters."""

from __future__ import annotations

from typing import Any

from connect_dagster.plugin.config import (
    Importance,
    Type,
    Width,
    at_least,
    config_group,
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

    with config_group(TOPIC_CREATION, importance=Importance.LOW, width=Width.LONG):
        topic_creation_groups: tuple[str, ...] = config_key(
            "topic.creation.groups",
            default=(),
            validator=ALIASES,
            display_name="Topic Creation Groups",
            doc="Groups of topics to create; topic.creation.<group>.* configures one.",
        )
    with config_group(EXACTLY_ONCE, width=Width.SHORT, first=2):
        exactly_once_support: str = config_key(
            "exactly.once.support",
            default="requested",
            validator=one_of_ignoring_case("requested", "required"),
            display_name="Exactly once support",
            doc="Whether the connector is refused when it cannot deliver exactly once (required).",
        )
        transaction_boundary: str = config_key(
            "transaction.boundary",
            default="poll",
            validator=one_of_ignoring_case("poll", "interval", "connector"),
            display_name="Transaction Boundary",
            doc="What a transaction holds: one poll, all records of an interval, or what the connector says.",
        )
        transaction_boundary_interval_ms: int | None = config_key(
            "transaction.boundary.interval.ms",
            type=Type.LONG,
            default=None,
            importance=Importance.LOW,
            validator=_null_or_at_least_zero,
            display_name="Transaction boundary interval",
            doc="Milliseconds of an interval for transaction.boundary=interval; unset: the worker's flush interval.",
        )
    with config_group(OFFSETS_TOPIC, importance=Importance.LOW, width=Width.LONG):
        offsets_storage_topic: str | None = config_key(
            "offsets.storage.topic",
            default=None,
            validator=non_empty_string,
            display_name="Offsets topic",
            doc="Topic for this connector's offsets instead of the worker's; no effect in standalone mode.",
        )
    with config_group(ERRORS, width=Width.MEDIUM, first=6):
        dead_letter_topic: str = config_key(
            "errors.deadletterqueue.topic.name",
            default="",
            display_name="Dead Letter Queue Topic Name",
            doc="Topic for records that could not be handled, as they were polled; empty for none. "
            "Kafka Connect has it for sinks only.",
        )
        dead_letter_replication_factor: int = config_key(
            "errors.deadletterqueue.topic.replication.factor",
            type=Type.SHORT,
            default=3,
            display_name="Dead Letter Queue Topic Replication Factor",
            doc="Replication factor of that topic when it has to be created.",
        )
        dead_letter_context_headers: bool = config_key(
            "errors.deadletterqueue.context.headers.enable",
            default=False,
            display_name="Enable Error Context Headers",
            doc="Whether such records get headers __connect.errors.* that tell what went wrong.",
        )
