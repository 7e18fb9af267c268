"""What the Launchpad offers for operations on connectors; every default is safe to launch as it is."""

from enum import Enum
from typing import Any

import dagster as dg
from pydantic import Field

from connect_dagster.plugin.connector_file import DesiredState

NAMES_NEEDED = "Names of connectors; at least one, as this cannot be undone."


class Afterwards(Enum):
    """The state a connector ends in when its offsets were changed, for which it has to be STOPPED meanwhile."""

    AS_BEFORE = "AS_BEFORE"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"

    def instead_of(self, before: DesiredState) -> DesiredState:
        """The state meant, for a connector that was in another one before."""
        return before if self is Afterwards.AS_BEFORE else DesiredState(self.value)


class AppliedState(Enum):
    """The state a declared connector is brought to: the declared one, or another for once."""

    AS_DECLARED = "AS_DECLARED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"

    def instead_of(self, declared: DesiredState) -> DesiredState:
        """The state meant, for a connector that is declared in another one."""
        return declared if self is AppliedState.AS_DECLARED else DesiredState(self.value)


class Patience(dg.Config):
    """How long an operation waits for its effect."""

    timeout: float | None = Field(
        default=None, description="Seconds until the effect has to be seen; the workspace's poll_timeout if not given."
    )


class ConnectorSelection(Patience):
    """Which connectors a verb goes to."""

    connectors: list[str] = Field(default=[], description="Names of connectors; none means all of the cluster's.")
    wait: bool = Field(default=True, description="Succeed only after the connectors reached the state.")


class RestartSelection(ConnectorSelection):
    """Which connectors to restart, and how much of them."""

    only_failed: bool = Field(default=True, description="Restart only what FAILED; otherwise connector and all tasks.")


class ApplySelection(ConnectorSelection):
    """Which declared connectors the cluster is to have as they are declared."""

    connectors: list[str] = Field(default=[], description="Names of declared connectors; none means all of them.")
    dry_run: bool = Field(default=False, description="Tell what would change, and change nothing.")
    state: AppliedState = Field(default=AppliedState.AS_DECLARED, description="The state the connectors end in.")


class DeleteSelection(Patience):
    """Which connectors to delete."""

    connectors: list[str] = Field(default=[], description=NAMES_NEEDED)


class ResetOffsetsSelection(Patience):
    """Which connectors forget their offsets."""

    connectors: list[str] = Field(default=[], description=NAMES_NEEDED)
    afterwards: Afterwards = Field(default=Afterwards.AS_BEFORE, description="The state the connectors end in.")


class OffsetEntry(dg.Config):
    """Where one partition is to be read from, in the shape of ``GET /connectors/{c}/offsets``."""

    partition: dict[str, Any] = Field(description="The partition; of a sink: kafka_topic and kafka_partition.")
    offset: dict[str, Any] | None = Field(
        default=None, description="Its offset; of a sink: kafka_offset. Without it the partition is reset."
    )


class AlterOffsetsConfig(Patience):
    """Offsets for one connector."""

    connector: str = Field(default="", description="Name of the connector.")
    offsets: list[OffsetEntry] = Field(default=[], description="Offsets to set; partitions not named stay.")
    afterwards: Afterwards = Field(default=Afterwards.AS_BEFORE, description="The state the connector ends in.")
