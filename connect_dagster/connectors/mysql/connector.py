"""Change data capture: the rows and changes of MySQL and MariaDB as topics, in Debezium's formats.

    name=shop
    connector.class=io.debezium.connector.mysql.MySqlConnector
    database.hostname=db
    database.port=3306
    database.user=debezium
    database.password=secret
    database.server.id=5701
    topic.prefix=shop
    database.include.list=ops
    schema.history.internal.kafka.bootstrap.servers=broker:9092
    schema.history.internal.kafka.topic=shop.history

Debezium: ``MySqlConnector`` and ``MariaDbConnector``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.options.config import MariaDbConfig, MySqlConfig
from connect_dagster.connectors.mysql.positions.position import Position, source_partition
from connect_dagster.connectors.mysql.task import BinlogSourceTask
from connect_dagster.connectors.mysql.versions import MARIADB_CONNECTOR_VERSION, MYSQL_CONNECTOR_VERSION
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.connector import ExactlyOnceSupport, Properties, SourceConnector


class MySqlTask(BinlogSourceTask):
    """Reads one MySQL server."""

    flavor = Flavor.MYSQL
    config_class = MySqlConfig
    version = MYSQL_CONNECTOR_VERSION


class MariaDbTask(BinlogSourceTask):
    """Reads one MariaDB server."""

    flavor = Flavor.MARIADB
    config_class = MariaDbConfig
    version = MARIADB_CONNECTOR_VERSION


class _BinlogConnector(SourceConnector):
    """A source with one task, as a binary log is read by one reader."""

    config_def: ClassVar[type[MySqlConfig] | type[MariaDbConfig]]

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the configuration of the task.

        Raises:
            ConnectError: ``tasks.max`` asks for more.
        """
        if max_tasks > 1:
            raise ConnectError(f"tasks.max must be 1: a binary log is read by one task, not by {max_tasks}")
        return [dict(self.properties)]

    def exactly_once_support(self, config: Properties) -> ExactlyOnceSupport:
        """Support it: an offset is a position of the binary log."""
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        """Check that each is a position of the connector's server."""
        expected = source_partition(self.config_def.parse(config).topic_prefix)
        for partition, offset in offsets:
            if offset is None:
                continue
            if dict(partition or {}) != expected:
                raise ConnectError(
                    f"Partition {dict(partition or {})} does not belong to this connector, which has {expected}"
                )
            Position.of(offset)
        return True


class MySqlConnector(_BinlogConnector):
    """A source of the changes of a MySQL server."""

    config_def = MySqlConfig
    java_class: ClassVar[str] = "io.debezium.connector.mysql.MySqlConnector"
    java_task_class: ClassVar[str] = "io.debezium.connector.mysql.MySqlConnectorTask"
    version: ClassVar[str] = MYSQL_CONNECTOR_VERSION
    task_class = MySqlTask


class MariaDbConnector(_BinlogConnector):
    """A source of the changes of a MariaDB server."""

    config_def = MariaDbConfig
    java_class: ClassVar[str] = "io.debezium.connector.mariadb.MariaDbConnector"
    java_task_class: ClassVar[str] = "io.debezium.connector.mariadb.MariaDbConnectorTask"
    version: ClassVar[str] = MARIADB_CONNECTOR_VERSION
    task_class = MariaDbTask
