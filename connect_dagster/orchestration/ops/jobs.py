"""Jobs that operate connectors from the Launchpad, the command line or a sensor."""

from collections.abc import Mapping, Sequence

import dagster as dg
from dagster import MetadataValue

from connect_dagster.orchestration.assets.specs import declared_props
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.ops.config import (
    AlterOffsetsConfig,
    ApplySelection,
    ConnectorSelection,
    DeleteSelection,
    ResetOffsetsSelection,
    RestartSelection,
)
from connect_dagster.orchestration.ops.ops import (
    build_kafka_connect_apply_op,
    kafka_connect_alter_offsets_op,
    kafka_connect_delete_op,
    kafka_connect_pause_op,
    kafka_connect_reset_offsets_op,
    kafka_connect_restart_op,
    kafka_connect_resume_op,
    kafka_connect_stop_op,
)
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

CLUSTER_TAG = "connect-dagster/cluster"


def build_kafka_connect_jobs(
    *,
    workspace: KafkaConnectWorkspace,
    connectors: Sequence[KafkaConnectConnectorSpec] = (),
    prefix: str = "kafka_connect",
    dagster_kafka_connect_translator: DagsterKafkaConnectTranslator | None = None,
    pool: str | None = None,
) -> list[dg.JobDefinition]:
    """Create the jobs ``kafka_connect_{apply,pause,resume,stop,restart,delete,alter_offsets,reset_offsets}``.

    Each waits until its effect was seen. What they are launched with by default is harmless: pause, resume, stop and
    restart go to the declared connectors, or to all where none is declared; delete, alter_offsets and reset_offsets
    need names. Without declarations the job apply is left out.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        connectors (Sequence[KafkaConnectConnectorSpec]): Declared connectors. Defaults to none.
        prefix (str): Begin of the jobs' names; give another one for a second cluster.
        dagster_kafka_connect_translator (Optional[DagsterKafkaConnectTranslator]): Gives the keys of the declared
            connectors' assets, which the jobs observe; the one their definitions are made with.
        pool (Optional[str]): Pool of the jobs' steps, whose limit in Dagster bounds how many of them run at
            once.

    Returns:
        list[JobDefinition]: The jobs.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import (
                KafkaConnectConnectorSpec,
                KafkaConnectWorkspace,
                build_kafka_connect_jobs,
            )

            lines = KafkaConnectConnectorSpec("lines", "FileStreamSource", {"file": "/tmp/in.txt", "topic": "lines"})
            defs = dg.Definitions(jobs=build_kafka_connect_jobs(workspace=KafkaConnectWorkspace(), connectors=[lines]))
    """
    translator = dagster_kafka_connect_translator or DagsterKafkaConnectTranslator()
    keys = {spec.name: translator.get_asset_spec(declared_props(workspace, spec)).key for spec in connectors}
    named = list(keys)
    with_defaults: dict[str, tuple[dg.OpDefinition, dg.Config]] = {
        "pause": (kafka_connect_pause_op, ConnectorSelection(connectors=named)),
        "resume": (kafka_connect_resume_op, ConnectorSelection(connectors=named)),
        "stop": (kafka_connect_stop_op, ConnectorSelection(connectors=named)),
        "restart": (kafka_connect_restart_op, RestartSelection(connectors=named)),
        "delete": (kafka_connect_delete_op, DeleteSelection()),
        "alter_offsets": (kafka_connect_alter_offsets_op, AlterOffsetsConfig()),
        "reset_offsets": (kafka_connect_reset_offsets_op, ResetOffsetsSelection()),
    }
    if connectors:
        # Its definition holds the declarations, so a second cluster's is another one, and needs another name.
        apply = build_kafka_connect_apply_op(connectors=connectors, name=f"{prefix}_apply_op")
        with_defaults = {"apply": (apply, ApplySelection(connectors=named)), **with_defaults}
    return [
        single_op_job(f"{prefix}_{verb}", *how, workspace, node=f"kafka_connect_{verb}_op", observed=keys, pool=pool)
        for verb, how in with_defaults.items()
    ]


def single_op_job(
    name: str,
    op: dg.OpDefinition,
    config: dg.Config,
    workspace: KafkaConnectWorkspace,
    *,
    description: str | None = None,
    node: str | None = None,
    observed: Mapping[str, dg.AssetKey] | None = None,
    pool: str | None = None,
) -> dg.JobDefinition:
    """Create a job that runs an op on a cluster, in the process of the run.

    Args:
        name: Of the job.
        op: Requires the resource ``kafka_connect``.
        config: Of the op, by default.
        workspace: The cluster.
        description: Of the job; the op's by default.
        node: Name of the op in the job, by default its own.
        observed: Assets of connectors, which the op and users find in the job's metadata.
        pool: Pool of the op.
    """
    graph = dg.GraphDefinition(
        name=name,
        node_defs=[_in_pool(op, pool) if pool else op],
        dependencies={dg.NodeInvocation(op.name, alias=node): {}},
        description=description or op.description,
    )
    return graph.to_job(
        config=dg.RunConfig(ops={node or op.name: config}),
        resource_defs={"kafka_connect": workspace},
        executor_def=dg.in_process_executor,
        metadata={connector: MetadataValue.asset(key) for connector, key in (observed or {}).items()},
        # The user or the sensor that operates decides on another attempt.
        tags={CLUSTER_TAG: workspace.cluster, "dagster/max_retries": "0"},
    )


def _in_pool(op: dg.OpDefinition, pool: str) -> dg.OpDefinition:
    """Return an op without inputs, with its steps in a pool."""
    return dg.OpDefinition(
        op.compute_fn,
        op.name,
        description=op.description,
        config_schema=op.config_schema,
        required_resource_keys=op.required_resource_keys,
        pool=pool,
    )
