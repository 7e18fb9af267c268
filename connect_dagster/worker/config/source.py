"""Keys that the framework adds to every source connector (Java: ``SourceConnectorConfig``), and dead letters."""

from __future__ import annotations

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
from connect_dagster.worker.config.connector import (
    ALIASES,
    DEAD_LETTER_CONTEXT_HEADERS,
    DEAD_LETTER_REPLICATION_FACTOR,
    DEAD_LETTER_TOPIC,
    ConnectorConfig,
    or_null,
)

TOPIC_CREATION = "Topic Creation"
EXACTLY_ONCE = "Exactly Once Support"
OFFSETS_TOPIC = "offsets.topic"


class SourceConnectorConfig(ConnectorConfig):
    """Framework keys of source connectors."""

    with config_group(TOPIC_CREATION, importance=Importance.LOW, width=Width.LONG):
        topic_creation_groups: tuple[str, ...] = config_key(
            "topic.creation.groups",
            default=(),
            validator=ALIASES,
            display_name="Topic Creation Groups",
            doc="Groups of configurations for topics created by source connectors; topic.creation.<group>.* "
            "configures one.",
        )
    with config_group(EXACTLY_ONCE, width=Width.SHORT, first=2):
        exactly_once_support: str = config_key(
            "exactly.once.support",
            default="requested",
            validator=one_of_ignoring_case("requested", "required"),
            display_name="Exactly once support",
            doc="Permitted values are requested, required. If set to required, forces a preflight check for the "
            "connector to ensure that it can provide exactly-once semantics with the given configuration.",
        )
        transaction_boundary: str = config_key(
            "transaction.boundary",
            default="poll",
            validator=one_of_ignoring_case("poll", "interval", "connector"),
            display_name="Transaction Boundary",
            doc="Permitted values are: poll, interval, connector. If set to poll, a new producer transaction will be "
            "started and committed for every batch of records that each task from this connector provides to Connect.",
        )
        transaction_boundary_interval_ms: int | None = config_key(
            "transaction.boundary.interval.ms",
            type=Type.LONG,
            default=None,
            importance=Importance.LOW,
            validator=or_null(at_least(0)),
            display_name="Transaction boundary interval",
            doc="If transaction.boundary is set to interval, determines the interval for producer transaction "
            "commits by connector tasks. If unset, defaults to the value of the worker-level "
            "offset.flush.interval.ms property.",
        )
    with config_group(OFFSETS_TOPIC, importance=Importance.LOW, width=Width.LONG):
        offsets_storage_topic: str | None = config_key(
            "offsets.storage.topic",
            default=None,
            validator=non_empty_string,
            display_name="Offsets topic",
            doc="The name of a separate offsets topic to use for this connector. If empty or not specified, the "
            "worker's global offsets topic name will be used. No effect in standalone mode.",
        )
    dead_letter_topic: str = DEAD_LETTER_TOPIC
    dead_letter_replication_factor: int = DEAD_LETTER_REPLICATION_FACTOR
    dead_letter_context_headers: bool = DEAD_LETTER_CONTEXT_HEADERS
