"""Definitions of hosted workers in one call, and several workers made of one."""

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import urlsplit, urlunsplit

import dagster as dg

from connect_dagster.orchestration.sensors.attempts import BackOff
from connect_dagster.orchestration.workers.assets import build_connect_group_assets, build_worker_asset_spec
from connect_dagster.orchestration.workers.failure_sensor import build_connect_worker_failure_sensor
from connect_dagster.orchestration.workers.heartbeat_checks import build_worker_heartbeat_checks
from connect_dagster.orchestration.workers.job import WORKER_JOB, build_connect_worker_job
from connect_dagster.orchestration.workers.keepalive_sensor import build_connect_worker_keepalive_sensor
from connect_dagster.orchestration.workers.resource import ConnectWorkerResource, HostedProcess

Resource = TypeVar("Resource", bound=dg.ConfigurableResource)  # type: ignore[type-arg]


def build_connect_worker_definitions(
    *,
    workers: Mapping[str, HostedProcess],
    job_name: str = WORKER_JOB,
    back_off: BackOff | None = None,
    heartbeat_timeout: float = 900.0,
    rest_timeout: float = 300.0,
    max_heartbeat_age_seconds: float = 900.0,
    minimum_interval_seconds: int = 10,
    group_assets: bool = True,
) -> dg.Definitions:
    """Create the definitions that host workers.

    These are the job that runs a worker, the sensor that keeps all of them alive, the one that reports why a worker
    died, an asset with a heartbeat check for each worker, and for each group of workers the assets of the group and
    its topics.

    Args:
        workers (Mapping[str, HostedProcess]): The workers, by their names in Dagster, which are parts of asset keys.
        job_name (str): Name of the job, which the names of the sensors begin with. Defaults to ``connect_worker``.
        back_off (Optional[BackOff]): Waiting times after failures. Defaults to 5 s, doubled up to 5 min.
        heartbeat_timeout (float): See :func:`build_connect_worker_keepalive_sensor`. Defaults to 900.
        rest_timeout (float): See :func:`build_connect_worker_keepalive_sensor`. Defaults to 300.
        max_heartbeat_age_seconds (float): See :func:`build_worker_heartbeat_checks`. Defaults to 900.
        minimum_interval_seconds (int): Seconds between two looks at the workers. Defaults to 10.
        group_assets (bool): Whether the groups and their topics are assets here. Of several code locations with
            workers of one group, one has them. Defaults to True.

    Returns:
        Definitions: To be merged with others.

    Examples:
        .. code-block:: python

            import dagster as dg

            from connect_dagster.orchestration import (
                ConnectWorkerResource,
                KafkaConnectWorkspace,
                build_connect_worker_definitions,
                numbered_workers,
            )

            worker = ConnectWorkerResource(
                workspace=KafkaConnectWorkspace(url="http://127.0.0.1:8083"),
                bootstrap_servers="127.0.0.1:9092",
                listener="http://127.0.0.1:8083",
                group_id="connect",
                config_storage_topic="connect-configs",
                offset_storage_topic="connect-offsets",
                status_storage_topic="connect-status",
            )
            defs = build_connect_worker_definitions(workers=numbered_workers(worker, 3))
    """
    job = build_connect_worker_job(workers=workers, name=job_name)
    return dg.Definitions(
        assets=[
            *(build_worker_asset_spec(worker_id, job_name=job_name) for worker_id in workers),
            *(_group_assets(workers) if group_assets else []),
        ],
        asset_checks=build_worker_heartbeat_checks(worker_ids=workers, max_age_seconds=max_heartbeat_age_seconds),
        jobs=[job],
        sensors=[
            build_connect_worker_keepalive_sensor(
                job=job,
                workers=workers,
                heartbeat_timeout=heartbeat_timeout,
                rest_timeout=rest_timeout,
                back_off=back_off,
                minimum_interval_seconds=minimum_interval_seconds,
            ),
            build_connect_worker_failure_sensor(job=job),
        ],
    )


def _group_assets(workers: Mapping[str, HostedProcess]) -> list[dg.AssetsDefinition]:
    groups: dict[str, dict[str, ConnectWorkerResource]] = {}
    for worker_id, worker in workers.items():
        if isinstance(worker, ConnectWorkerResource):
            groups.setdefault(worker.named("group.id"), {})[worker_id] = worker
    return [
        build_connect_group_assets(worker=next(iter(members.values())), worker_ids=members)
        for members in groups.values()
    ]


def numbered_workers(
    worker: ConnectWorkerResource, count: int, name: str = "worker"
) -> dict[str, ConnectWorkerResource]:
    """Make several workers of one group on one machine, on consecutive ports.

    Args:
        worker (ConnectWorkerResource): The first of them; its listener and the URL of its workspace name their ports.
        count (int): How many.
        name (str): What their names begin with: ``worker-1``, ``worker-2``. Defaults to ``worker``.

    Returns:
        dict[str, ConnectWorkerResource]: The workers by their names.

    Raises:
        ValueError: The listener or the URL of the workspace names no port.
    """
    listener = worker.listener or worker.workspace.url
    return {
        f"{name}-{number + 1}": _with(
            worker,
            listener=_port_added(listener, number),
            workspace=_with(worker.workspace, url=_port_added(worker.workspace.url, number)),
        )
        for number in range(count)
    }


def _with(resource: Resource, **fields: object) -> Resource:
    return type(resource)(**{**{name: getattr(resource, name) for name in type(resource).model_fields}, **fields})


def _port_added(url: str, number: int) -> str:
    parts = urlsplit(url)
    if parts.port is None:
        raise ValueError(f"{url!r} names no port to count from: write http://host:port")
    host = parts.netloc.rpartition(":")[0]
    return urlunsplit(parts._replace(netloc=f"{host}:{parts.port + number}"))
