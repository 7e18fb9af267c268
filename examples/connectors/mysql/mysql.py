"""The changes of a MySQL database, from its binary log.

Try it: ``dagster dev -f examples/connectors/mysql/mysql.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import KafkaConnectWorkspace, MySqlResource, build_connector_definitions

connector = MySqlResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="mysql",
    database_hostname="127.0.0.1",
    database_port=3306,
    database_user="capture",
    database_password=dg.EnvVar("CONNECT_SHOP_PASSWORD"),
    database_server_id=5701,
    topic_prefix="shop",
    database_include_list=["shop"],
    schema_history_internal_kafka_bootstrap_servers="127.0.0.1:9092",
    schema_history_internal_kafka_topic="shop.history",
)

defs = build_connector_definitions(connector)
