"""A flow of MirrorMaker in YAML."""

import dagster as dg
from pydantic import Field, PositiveInt

from connect_dagster.orchestration.assets.specs import declared_props
from connect_dagster.orchestration.checks.mirror import (
    build_mirror_config_drift_checks,
    build_mirror_heartbeat_checks,
    build_mirror_lag_checks,
)
from connect_dagster.orchestration.checks.mirror_failover import build_mirror_failover_checks
from connect_dagster.orchestration.checks.mirror_matches import build_mirror_matches_checks
from connect_dagster.orchestration.cluster import check_sources
from connect_dagster.orchestration.components.declared_component import DeclaredConnectorsComponent
from connect_dagster.orchestration.components.scaffolders import MirrorScaffolder
from connect_dagster.orchestration.components.yaml_values import ResolvedConfig, ResolvedWorkspace
from connect_dagster.orchestration.connectors.mirror_flow import (
    CHECKPOINT,
    SOURCE,
    MirroredCluster,
    mirror_connectors,
)
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.ops.mirror import FAILOVER_JOB, build_mirror_failover_job
from connect_dagster.orchestration.ops.mirror_groups import SYNC_GROUPS_JOB, build_mirror_sync_groups_job
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.connector_file import DesiredState


@dg.scaffold_with(MirrorScaffolder)
class MirrorFlowComponent(DeclaredConnectorsComponent):
    """Mirrors topics, and offsets of consumer groups, from one Kafka cluster to another one.

    Declares MirrorMaker's three connectors on a Connect cluster of the target, which Dagster keeps as declared. Checks
    look at the lag of the mirrored topics, their settings, and whether groups can go on in the target; a job reports
    where each group would, another one sets the groups' offsets there. Both ends need ``kafka_cluster``, their alias in
    the flow, and ``bootstrap_servers``, which the workers reach as well; ``client_properties`` are the login to them.

    Heartbeats of the source exist where a flow in the other direction, or another heartbeat connector, writes them:
    their check is made with ``max_heartbeat_age_seconds``. With ``compared_records`` a check compares that many records
    in both clusters.

    Examples:
        .. code-block:: yaml

            # defs.yaml
            type: connect_dagster.MirrorFlowComponent
            attributes:
              source:
                kafka_cluster: eu
                bootstrap_servers: 127.0.0.1:9092
                client_properties:
                  security.protocol: SASL_SSL
                  sasl.jaas.config: {env: EU_JAAS}
              target:
                url: http://127.0.0.1:8083
                kafka_cluster: us
                bootstrap_servers: 127.0.0.1:9192
              topics: [orders, payments]
              groups: [billing]
              config:
                replication.factor: 3
                sync.group.offsets.enabled: true
    """

    source: ResolvedWorkspace = Field(
        description="The Kafka cluster that is mirrored: `kafka_cluster`, `bootstrap_servers` and `client_properties`."
    )
    target: ResolvedWorkspace = Field(
        description="The Connect cluster that runs the connectors, and its Kafka cluster, which receives the records."
    )
    topics: list[str] = Field(
        min_length=1, description="Topics: names, or Java regular expressions of whole names; `.*` for all."
    )
    groups: list[str] = Field(
        default=[".*"], description="Consumer groups whose offsets are translated: ids or expressions."
    )
    config: ResolvedConfig = Field(
        default={},
        description="Further options of the connectors, as in mm2.properties; `{env: NAME}` stands for a variable.",
    )
    state: DesiredState = Field(
        default=DesiredState.RUNNING, description="State of the connectors: RUNNING, PAUSED or STOPPED."
    )
    name: str | None = Field(
        default=None, description="Begin of the connectors' names; <source>-to-<target> by default."
    )
    tasks_max: int = Field(default=1, description="Most tasks of the source and of the checkpoint connector.")
    max_lag: int = Field(
        default=10_000,
        description="Records that may be beyond the committed positions, before a check fails; more than the flow "
        "moves in the worker's offset.flush.interval.ms.",
    )
    max_group_lag: int = Field(default=1_000, description="Records that a group may have to read after a failover.")
    max_checkpoint_age_seconds: float = Field(default=300.0, description="Age of checkpoints at which a check fails.")
    max_heartbeat_age_seconds: float | None = Field(
        default=None, description="Age of the source's heartbeats at which a check fails; without it none is made."
    )
    compared_records: PositiveInt | None = Field(
        default=None, description="Records that a check compares in both clusters; without it none is made."
    )

    def connectors(self) -> dict[str, KafkaConnectConnectorSpec]:
        """Return the declared connectors by kind: source, checkpoint, heartbeat.

        Raises:
            DagsterInvalidDefinitionError: An alias or the brokers of an end are missing, or both ends are one.
        """
        check_sources([self.source, self.target])
        source, target = (_end(workspace) for workspace in (self.source, self.target))
        return mirror_connectors(
            source,
            target,
            name=self.name,
            topics=self.topics,
            groups=self.groups,
            tasks_max=self.tasks_max,
            config=self.config,
            state=self.state,
        )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the assets, checks, sensors and jobs of the flow."""
        folder, connectors = context.path.stem, self.connectors()
        begin, own = self.job_names_begin(folder), [connectors[CHECKPOINT].name]
        watched = dg.Definitions(
            asset_checks=self._checks(connectors),
            jobs=[
                build_mirror_failover_job(
                    workspace=self.target, source=self.source, connectors=own, name=f"{begin}_{FAILOVER_JOB}"
                ),
                build_mirror_sync_groups_job(workspace=self.target, connectors=own, name=f"{begin}_{SYNC_GROUPS_JOB}"),
            ],
        )
        declared = self.declared_defs(folder, self.target, list(connectors.values()), [self.source])
        return dg.Definitions.merge(declared, watched)

    def _checks(self, connectors: dict[str, KafkaConnectConnectorSpec]) -> list[dg.AssetChecksDefinition]:
        mirror, checkpoint = (
            [self.translator.get_asset_spec(declared_props(self.target, connectors[kind]))]
            for kind in (SOURCE, CHECKPOINT)
        )
        heartbeats = (
            build_mirror_heartbeat_checks(
                workspace=self.target, connectors=mirror, max_age_seconds=self.max_heartbeat_age_seconds
            )
            if self.max_heartbeat_age_seconds is not None
            else []
        )
        matches = (
            build_mirror_matches_checks(
                workspace=self.target, source=self.source, connectors=mirror, sample_size=self.compared_records
            )
            if self.compared_records is not None
            else []
        )
        return [
            *build_mirror_lag_checks(
                workspace=self.target, source=self.source, connectors=mirror, max_lag=self.max_lag
            ),
            *build_mirror_config_drift_checks(workspace=self.target, source=self.source, connectors=mirror),
            *build_mirror_failover_checks(
                workspace=self.target,
                source=self.source,
                connectors=checkpoint,
                max_age_seconds=self.max_checkpoint_age_seconds,
                max_lag=self.max_group_lag,
            ),
            *heartbeats,
            *matches,
        ]


def _end(workspace: KafkaConnectWorkspace) -> MirroredCluster:
    """Return an end of the flow; an ``EnvVar`` in it stays one."""
    alias, servers = workspace.kafka_cluster, workspace.bootstrap_servers
    assert alias is not None  # they are checked
    assert servers is not None
    return MirroredCluster(alias, servers, workspace.client_properties)
