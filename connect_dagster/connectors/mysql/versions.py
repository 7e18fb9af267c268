"""Versions of the connectors of Debezium whose formats ours have; records and statuses show them."""

from typing import Final

MYSQL_CONNECTOR_VERSION: Final = "3.6.1.Final"
MARIADB_CONNECTOR_VERSION: Final = "3.5.0.Final"
