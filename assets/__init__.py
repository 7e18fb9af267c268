"""The Dagster project that ships with connect_dagster: a worker, its connectors, their data, a report.

It loads without a broker, a worker or Spark.
"""

import dagster as dg

from assets.downstream import build_requests_by_status
from connect_dagster import (
    build_connect_worker_definitions,
    build_connector_definitions,
    build_connector_lag_checks,
    build_kafka_connect_polling_sensor,
)
from resources import (
    EVENT_SECONDS,
    POLL_SECONDS,
    TOPIC,
    connect_worker,
    kafka_connect,
    local_file_sink,
    local_file_source,
    pyspark,
)

connectors = [local_file_source, local_file_sink]

defs = dg.Definitions.merge(
    build_connect_worker_definitions(workers={"worker": connect_worker}),
    build_connector_definitions(*connectors, minimum_interval_seconds=POLL_SECONDS),
    dg.Definitions(
        assets=[build_requests_by_status(TOPIC)],
        asset_checks=build_connector_lag_checks(
            workspace=kafka_connect, connectors=[local_file_sink.name], max_lag=10_000
        ),
        sensors=[
            build_kafka_connect_polling_sensor(
                workspace=kafka_connect,
                minimum_interval_seconds=POLL_SECONDS,
                event_interval_seconds=EVENT_SECONDS,
            )
        ],
        resources={"pyspark": pyspark},
        # Steps send requests to a worker and wait: a process for each would take longer than its work.
        executor=dg.in_process_executor,
    ),
)
