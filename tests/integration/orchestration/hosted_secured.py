"""What `dagster dev` loads beside brokers that take tokens only: a worker, a sensor, and the assets of its group."""

import json
import os

import dagster as dg

from connect_dagster.orchestration import (
    BackOff,
    ConnectWorkerResource,
    KafkaConnectWorkspace,
    build_connect_worker_definitions,
    build_kafka_connect_polling_sensor,
)
from connect_dagster.orchestration.assets.keys import group_key, topic_key
from tests.integration.worker.secured_broker import for_all

prefix = os.environ["HOSTED_SECURED_PREFIX"]
login = json.loads(os.environ["HOSTED_SECURED_LOGIN"])
topics = {kind: f"{prefix}{kind}s" for kind in ("config", "offset", "status")}

workspace = KafkaConnectWorkspace(
    url=os.environ["HOSTED_SECURED_URL"],
    bootstrap_servers=os.environ["HOSTED_SECURED_SERVERS"],
    client_properties=login,
)
worker = ConnectWorkerResource(
    workspace=workspace,
    bootstrap_servers=os.environ["HOSTED_SECURED_SERVERS"],
    listener=os.environ["HOSTED_SECURED_URL"],
    group_id=f"{prefix}group",
    config_storage_topic=topics["config"],
    offset_storage_topic=topics["offset"],
    status_storage_topic=topics["status"],
    properties={
        **for_all(login),
        **{f"{kind}.storage.replication.factor": "1" for kind in topics},
        "offset.flush.interval.ms": "500",
    },
)

read_group = dg.define_asset_job(
    "read_group", selection=[group_key(f"{prefix}group"), *(topic_key(name) for name in topics.values())]
)
defs = dg.Definitions.merge(
    build_connect_worker_definitions(
        workers={"secured": worker}, minimum_interval_seconds=1, back_off=BackOff(base=1.0, cap=2.0)
    ),
    dg.Definitions(
        jobs=[read_group],
        sensors=[
            build_kafka_connect_polling_sensor(
                workspace=workspace, minimum_interval_seconds=1, event_interval_seconds=0
            )
        ],
    ),
)
