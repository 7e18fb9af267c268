"""Rows that Spark reads from a folder of JSON files, each file once.

Try it: ``dagster dev -f examples/connectors/spark_source/spark_source.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import KafkaConnectWorkspace, SparkSourceResource, build_connector_definitions

connector = SparkSourceResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="spark-source",
    format="json",
    schema_="id BIGINT, item STRING, price DECIMAL(10,2)",
    checkpoint_location="/data/orders-checkpoint",
    topic="orders",
    key_columns=["id"],
    config={"options.path": "/data/orders"},
)

defs = build_connector_definitions(connector)
