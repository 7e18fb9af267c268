"""The changes of a MariaDB database, from its binary log.

Try it: ``dagster dev -f examples/connectors/mariadb/mariadb.py``, with a worker at ``CONNECT_URL``.
"""

import dagster as dg

from connect_dagster import KafkaConnectWorkspace, MariaDbResource, build_connector_definitions

connector = MariaDbResource(
    workspace=KafkaConnectWorkspace(url=dg.EnvVar("CONNECT_URL")),
    name="mariadb",
    database_hostname="127.0.0.1",
    database_port=3306,
    database_user="capture",
    database_password=dg.EnvVar("CONNECT_SHOP_PASSWORD"),
    database_server_id=5702,
    topic_prefix="shop",
    database_include_list=["shop"],
    schema_history_internal_kafka_bootstrap_servers="127.0.0.1:9092",
    schema_history_internal_kafka_topic="shop.history",
)

defs = build_connector_definitions(connector)
