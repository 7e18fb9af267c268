"""New and changed rows of two tables, each in its topic.

Try it: ``dagster dev -f examples/connectors/jdbc_source/jdbc_source.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import JdbcSourceResource, KafkaConnectWorkspace, build_connector_definitions

connector = JdbcSourceResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="jdbc-source",
    tasks_max=2,
    connection_url="jdbc:postgresql://127.0.0.1:5432/shop",
    connection_user="reader",
    connection_password=dg.EnvVar("CONNECT_SHOP_PASSWORD"),
    table_whitelist=["orders", "customers"],
    mode="timestamp+incrementing",
    timestamp_column_name=["modified"],
    incrementing_column_name="id",
    topic_prefix="shop-",
)

defs = build_connector_definitions(connector)
