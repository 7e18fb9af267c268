"""The rows of a topic, inserted or updated in a table by the record's key.

Try it: ``dagster dev -f examples/connectors/jdbc_sink/jdbc_sink.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import JdbcSinkResource, KafkaConnectWorkspace, build_connector_definitions

connector = JdbcSinkResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="jdbc-sink",
    tasks_max=2,
    topics=["shop-orders"],
    connection_url="jdbc:postgresql://127.0.0.1:5432/copy",
    connection_user="writer",
    connection_password=dg.EnvVar("CONNECT_SHOP_PASSWORD"),
    insert_mode="upsert",
    pk_mode="record_key",
    pk_fields=["id"],
    delete_enabled=True,
    auto_create=True,
    auto_evolve=True,
)

defs = build_connector_definitions(connector)
