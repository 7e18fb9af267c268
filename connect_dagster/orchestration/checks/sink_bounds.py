"""Bounds of sinks: their checks ``connector_lag`` and ``dead_letters``, by runs and by the polling sensor alike."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import dagster as dg

from connect_dagster.client.datasets import KafkaConnectConnectorProps
from connect_dagster.client.lineage import DEAD_LETTER_KEY
from connect_dagster.client.types import Direction
from connect_dagster.orchestration.checks.connector_checks import require_brokers
from connect_dagster.orchestration.checks.dead_letters import build_dead_letter_checks
from connect_dagster.orchestration.checks.lag import build_connector_lag_checks
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace


@dataclass(frozen=True, slots=True)
class SinkBounds:
    """The most records that a sink may leave behind; a bound of None makes no check.

    Attributes:
        max_lag: Records that may not be committed yet, over all partitions.
        max_dead_letters: Records that may be added to the dead letter queue between two evaluations.
    """

    max_lag: int | None = None
    max_dead_letters: int | None = None

    def within_reach(self, workspace: KafkaConnectWorkspace) -> "SinkBounds":
        """Return the bounds that can be checked: without brokers none, where no more than the default 0 is lost.

        Args:
            workspace: The cluster.

        Raises:
            DagsterInvalidDefinitionError: A bound is given, and the workspace has no ``bootstrap_servers``.
        """
        if workspace.bootstrap_servers:
            return self
        if self.max_lag is not None:
            require_brokers(workspace, "lag (max_lag)")
        if self.max_dead_letters:
            require_brokers(workspace, "dead letters (max_dead_letters)")
        return UNBOUNDED

    def checks(
        self,
        workspace: KafkaConnectWorkspace,
        connectors: Iterable[KafkaConnectConnectorProps],
        assets: Mapping[str, dg.AssetSpec],
    ) -> list[dg.AssetChecksDefinition]:
        """Return the checks of the sinks among connectors; that of dead letters where one has a topic for them.

        Args:
            workspace: The cluster.
            connectors: The connectors.
            assets: Their assets by the connectors' names.

        Raises:
            DagsterInvalidDefinitionError: As :meth:`within_reach`.
        """
        bounds = self.within_reach(workspace)
        sinks = [one for one in connectors if one.type is Direction.SINK]
        checks: list[dg.AssetChecksDefinition] = []
        if bounds.max_lag is not None:
            lagging = [assets[one.name] for one in sinks]
            checks += build_connector_lag_checks(workspace=workspace, connectors=lagging, max_lag=bounds.max_lag)
        if (growth := bounds.max_dead_letters) is not None:
            queued = [assets[one.name] for one in sinks if one.config.get(DEAD_LETTER_KEY)]
            checks += build_dead_letter_checks(workspace=workspace, connectors=queued, max_growth=growth)
        return checks


UNBOUNDED = SinkBounds()
