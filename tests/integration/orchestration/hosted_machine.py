"""Definitions for the code server of one machine: one worker of a group with a worker on each machine."""

import os

from connect_dagster.orchestration import (
    BackOff,
    ConnectWorkerResource,
    KafkaConnectWorkspace,
    build_connect_worker_definitions,
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

defs = build_connect_worker_definitions(
    workers=workers,
    minimum_interval_seconds=1,
    back_off=BackOff(base=1.0, cap=2.0),
    group_assets=os.environ["MACHINE_HAS_GROUP"] == "1",
)
