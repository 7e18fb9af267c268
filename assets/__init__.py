"""The Dagster project that ships with connect_dagster: a worker, its connectors, what they read and write.

Loading it reads the connectors' files and nothing else: neither a broker nor a worker has to run.
"""

import dagster as dg

from connect_dagster.orchestration import (
    build_connect_worker_job,
    build_connect_worker_keepalive_sensor,
    build_connector_asset_specs,
    build_connector_status_sensor,
    build_kafka_connect_jobs,
    build_worker_asset_spec,
)
from connect_dagster.worker.connector_file import read_connector_file
from resources import CONNECTOR_FILES, POLL_SECONDS, connect_worker, kafka_connect

connectors = [read_connector_file(file) for file in CONNECTOR_FILES]
worker_job = build_connect_worker_job()

defs = dg.Definitions(
    assets=[
        build_worker_asset_spec(),
        *build_connector_asset_specs(kafka_connect.cluster, [connector.config for connector in connectors]),
    ],
    jobs=[worker_job, *build_kafka_connect_jobs(connectors=[connector.name for connector in connectors])],
    sensors=[
        build_connect_worker_keepalive_sensor(job=worker_job),
        build_connector_status_sensor(minimum_interval_seconds=POLL_SECONDS),
    ],
    resources={"connect_worker": connect_worker, "kafka_connect": kafka_connect},
)
