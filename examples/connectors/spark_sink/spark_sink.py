"""The records of a topic, as Parquet files that Spark writes, those that cannot be read in a dead letter queue.

Try it: ``dagster dev -f examples/connectors/spark_sink/spark_sink.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import KafkaConnectWorkspace, SparkSinkResource, build_connector_definitions

connector = SparkSinkResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="spark-sink",
    tasks_max=2,
    topics=["orders"],
    format="parquet",
    options_path="/data/orders-parquet",
    errors_tolerance="all",
    errors_deadletterqueue_topic_name="orders-dead",
)

defs = build_connector_definitions(connector)
