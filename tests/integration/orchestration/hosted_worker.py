"""What `dagster dev` loads in tests of hosting: one worker with one connector, under a sensor that is quick."""

import os

from connect_dagster.orchestration import (
    BackOff,
    KafkaConnectWorkspace,
    StandaloneConnectWorkerResource,
    build_connect_worker_definitions,
)

worker = StandaloneConnectWorkerResource(
    workspace=KafkaConnectWorkspace(url=os.environ["HOSTED_WORKER_URL"]),
    worker_properties=os.environ["HOSTED_WORKER_PROPERTIES"],
    connector_files=[os.environ["HOSTED_CONNECTOR"]],
)

defs = build_connect_worker_definitions(
    workers={"hosted": worker}, minimum_interval_seconds=1, back_off=BackOff(base=1.0, cap=2.0), rest_timeout=60.0
)
