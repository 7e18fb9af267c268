"""What `dagster dev` loads in tests of several workers: two of one group, under a sensor that is quick."""

import os

from connect_dagster.orchestration import (
    BackOff,
    ConnectWorkerResource,
    KafkaConnectWorkspace,
    build_connect_worker_definitions,
    numbered_workers,
)

prefix = os.environ["HOSTED_GROUP_PREFIX"]

worker = ConnectWorkerResource(
    workspace=KafkaConnectWorkspace(url=os.environ["HOSTED_GROUP_URL"]),
    bootstrap_servers=os.environ["HOSTED_GROUP_SERVERS"],
    listener=os.environ["HOSTED_GROUP_URL"],
    group_id=f"{prefix}group",
    config_storage_topic=f"{prefix}configs",
    offset_storage_topic=f"{prefix}offsets",
    status_storage_topic=f"{prefix}status",
    properties={f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
)

defs = build_connect_worker_definitions(
    workers=numbered_workers(worker, 2), minimum_interval_seconds=1, back_off=BackOff(base=1.0, cap=2.0)
)
