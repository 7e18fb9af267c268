"""Run configurations of operations on connectors; every default is safe to launch."""

from typing import Any

import dagster as dg
from pydantic import Field

from connect_dagster.plugin.connector_file import DesiredState

STATE_BEFORE = "Final state; the one before the change if not given."
NAMES_NEEDED = "Names of connectors; at least one, as this cannot be undone."


class WaitConfig(dg.Config):
    """Bound for the wait of an operation."""

    timeout: float | None = Field(
        default=None, description="Seconds until the effect has to be seen; the workspace's poll_timeout if not given."
    )


class ConnectorSelection(WaitConfig):
    """Selection of connectors."""

    connectors: list[str] = Field(default=[], description="Names of connectors; none means all of the cluster's.")
    wait: bool = Field(default=True, description="Succeed only after the connectors reached the state.")


class RestartSelection(ConnectorSelection):
    """Selection of connectors to restart."""

    only_failed: bool = Field(
        default=True, description="Restart only FAILED parts; otherwise the connector and all tasks."
    )


class ApplySelection(ConnectorSelection):
    """Selection of declared connectors to apply."""

    connectors: list[str] = Field(default=[], description="Names of declared connectors; none means all of them.")
    dry_run: bool = Field(default=False, description="Report the changes, and apply none.")
    state: DesiredState | None = Field(
        default=None, description="Final state of the connectors; the declared one if not given."
    )


class DeleteSelection(WaitConfig):
    """Selection of connectors to delete."""

    connectors: list[str] = Field(default=[], description=NAMES_NEEDED)


class ResetOffsetsSelection(WaitConfig):
    """Selection of connectors whose offsets are reset."""

    connectors: list[str] = Field(default=[], description=NAMES_NEEDED)
    afterwards: DesiredState | None = Field(default=None, description=STATE_BEFORE)


class OffsetEntry(dg.Config):
    """Offset of one partition, in the form of ``GET /connectors/{c}/offsets``."""

    partition: dict[str, Any] = Field(description="The partition; of a sink: kafka_topic and kafka_partition.")
    offset: dict[str, Any] | None = Field(
        default=None, description="Its offset; of a sink: kafka_offset. Without it the partition is reset."
    )


class AlterOffsetsConfig(WaitConfig):
    """Offsets for one connector."""

    connector: str = Field(default="", description="Name of the connector.")
    offsets: list[OffsetEntry] = Field(default=[], description="Offsets to set; partitions not named stay.")
    afterwards: DesiredState | None = Field(default=None, description=STATE_BEFORE)
