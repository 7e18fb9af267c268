"""Workers and their groups as assets, which carry observations of workers and the groups' state on the brokers."""

from collections.abc import Iterable, Mapping

import dagster as dg
from dagster import AssetKey, AssetSpec

from connect_dagster.orchestration.assets.keys import GROUP_NAME, group_key, identifier, topic_key, worker_key
from connect_dagster.orchestration.cluster import check_names
from connect_dagster.orchestration.source_code import calling_code, linked
from connect_dagster.orchestration.workers.group_metadata import (
    configs_metadata,
    group_metadata,
    offsets_metadata,
    statuses_metadata,
)
from connect_dagster.orchestration.workers.job import WORKER_JOB
from connect_dagster.orchestration.workers.resource import ConnectWorkerResource

TOPIC_PROPERTIES = {
    "config.storage.topic": "configurations",
    "offset.storage.topic": "offsets of sources",
    "status.storage.topic": "states of connectors and tasks",
}


def build_worker_asset_spec(worker_id: str = "standalone", *, job_name: str = WORKER_JOB) -> AssetSpec:
    """Return the worker as an external asset, which carries the observations of the job's runs.

    Args:
        worker_id (str): Name of the worker in Dagster.
        job_name (str): Name of the job that runs it. Defaults to ``connect_worker``.

    Returns:
        AssetSpec: The asset.
    """
    spec = AssetSpec(
        worker_key(worker_id),
        description=f"Process that runs connectors, hosted by the job `{job_name}`.",
        group_name=GROUP_NAME,
        kinds={"kafka", "spark", "python"},
    )
    return linked(spec, [calling_code()])


def build_connect_group_assets(*, worker: ConnectWorkerResource, worker_ids: Iterable[str] = ()) -> dg.AssetsDefinition:
    """Create the assets of a group of workers: the group, and the three topics that hold its state.

    Materialising one reads it from the brokers, not from a worker: the members of the group and their work; per
    connector the number of tasks and the names of its properties, the offset of each partition, the state with its
    generation. Values of properties are not read, as they may be secret.

    Args:
        worker (ConnectWorkerResource): A worker of the group; it does not have to run.
        worker_ids (Iterable[str]): Names in Dagster of the group's workers, which the group then depends on.

    Returns:
        AssetsDefinition: The four assets, each of which may be materialised alone.

    Raises:
        DagsterInvalidDefinitionError: The cluster's name or its alias is an ``EnvVar``.
        Failure: The worker names no group or no topics, or its property file cannot be read.

    Examples:
        .. code-block:: python

            import dagster as dg

            from connect_dagster.orchestration import (
                ConnectWorkerResource,
                KafkaConnectWorkspace,
                build_connect_group_assets,
            )

            worker = ConnectWorkerResource(
                workspace=KafkaConnectWorkspace(),
                bootstrap_servers="127.0.0.1:9092",
                group_id="connect",
                config_storage_topic="connect-configs",
                offset_storage_topic="connect-offsets",
                status_storage_topic="connect-status",
            )
            defs = dg.Definitions(assets=[build_connect_group_assets(worker=worker)])
    """
    check_names(worker.workspace)
    group_id, prefix = worker.named("group.id"), worker.workspace.data_key_prefix
    alias = worker.workspace.kafka_cluster
    keys = {
        name: topic_key(worker.named(name), alias).with_prefix([] if alias else prefix) for name in TOPIC_PROPERTIES
    }
    group = group_key(group_id).with_prefix(prefix)
    specs, source = [_group_spec(group_id, group, worker_ids), *_topic_specs(keys, group)], calling_code()

    @dg.multi_asset(
        name=f"connect_group_{identifier('_'.join([*prefix, group_id]))}",
        specs=[linked(spec, [source]) for spec in specs],
        can_subset=True,
    )
    def connect_group(context: dg.AssetExecutionContext) -> Iterable[dg.MaterializeResult[None]]:
        """Reads the group and its topics from the brokers."""
        selected = context.selected_asset_keys
        with worker.process_config_and_initialize_cm() as ready:
            if group in selected:
                yield dg.MaterializeResult(group, metadata=group_metadata(ready.group()))
            if (key := keys["config.storage.topic"]) in selected:
                yield dg.MaterializeResult(key, metadata=configs_metadata(ready.configs()))
            if (key := keys["offset.storage.topic"]) in selected:
                yield dg.MaterializeResult(key, metadata=offsets_metadata(ready.offsets()))
            if (key := keys["status.storage.topic"]) in selected:
                yield dg.MaterializeResult(key, metadata=statuses_metadata(ready.statuses(), ready.configs()))

    return connect_group


def _group_spec(group_id: str, key: AssetKey, worker_ids: Iterable[str]) -> AssetSpec:
    return AssetSpec(
        key,
        deps=[worker_key(worker_id) for worker_id in worker_ids],
        description=f"Group `{group_id}` of Connect workers: its members, and the work of each.",
        group_name=GROUP_NAME,
        kinds={"kafka"},
    )


def _topic_specs(keys: Mapping[str, AssetKey], group: AssetKey) -> Iterable[AssetSpec]:
    for name, key in keys.items():
        yield AssetSpec(
            key,
            deps=[group],
            description=f"Topic `{key.path[-1]}`, where the group keeps {TOPIC_PROPERTIES[name]} (`{name}`).",
            group_name=GROUP_NAME,
            kinds={"kafka"},
        )
