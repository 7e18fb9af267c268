"""Definitions for the code server of one machine: one worker of a group with a worker on each machine."""

import os

import dagster as dg

from connect_dagster.orchestration import (
    BackOff,
    ConnectWorkerResource,
    KafkaConnectWorkspace,
    build_connect_worker_job,
    build_connect_worker_keepalive_sensor,
)

prefix, name = os.environ["MACHINE_PREFIX"], os.environ["MACHINE_NAME"]

workers = {
    name: ConnectWorkerResource(
        workspace=KafkaConnectWorkspace(url=os.environ["MACHINE_URL"]),
        bootstrap_servers=os.environ["MACHINE_SERVERS"],
        listener=os.environ["MACHINE_URL"],
        group_id=f"{prefix}group",
        config_storage_topic=f"{prefix}configs",
        offset_storage_topic=f"{prefix}offsets",
        status_storage_topic=f"{prefix}status",
        properties={f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
    )
}
job = build_connect_worker_job(workers=workers)

defs = dg.Definitions(
    jobs=[job],
    sensors=[
        build_connect_worker_keepalive_sensor(
            job=job, workers=workers, minimum_interval_seconds=1, back_off=BackOff(base=1.0, cap=2.0)
        )
    ],
)
