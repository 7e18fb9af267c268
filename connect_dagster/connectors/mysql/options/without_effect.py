"""Options of Debezium that are accepted and change nothing, each with the reason.

A row's documentation is that reason: it is in the REST API, in the reference, and in the warning of a connector that
sets the option to something else than its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from connect_dagster.plugin.config import ConfigKey, Importance, Type, Width, to_text

_LINEAGE = "OpenLineage is not supported: lineage is in Dagster."
_METRICS = "The metrics are those of the worker."
_CUSTOM = "Classes of the JVM cannot be loaded, and the mode 'custom' is refused."
_DRIVER = "The connector has no JDBC driver."
_MEMORY = "Structures of tables are kept in memory."
_IN_MEMORY = "io.debezium.relational.ConcurrentMapTableMappingStorage"
_SOURCE = "The field source is as Debezium's connector has it."
_SECRETS = "Logs do not have configurations."
_SECRET_NAMES = (
    ".*secret$|.*password$|.*sasl\\.jaas\\.config$|.*basic\\.auth\\.user\\.info|.*registry\\.auth\\.client-secret"
)
_MYSQL_SECRETS = f"{_SECRET_NAMES}|.*credentials\\.json$|.*connectionstring$|.*connection\\.string$"


def _row(name: str, kind: Type, default: Any, reason: str) -> ConfigKey:
    return ConfigKey(name, kind, default, Importance.LOW, reason, group="Without effect", width=Width.MEDIUM)


_TEXT, _LIST, _NUMBER, _LONG, _SWITCH, _CLASS = (
    Type.STRING,
    Type.LIST,
    Type.INT,
    Type.LONG,
    Type.BOOLEAN,
    Type.CLASS,
)
_ROWS = (
    _row("max.batch.size", _NUMBER, 2048, "A batch has the records of max.queue.size.in.bytes of the log."),
    _row("max.queue.size", _NUMBER, 8192, "Records do not wait in a queue: max.queue.size.in.bytes limits a batch."),
    _row("query.fetch.size", _NUMBER, 0, "Statements beside those of snapshots have few rows."),
    _row(
        "incremental.snapshot.allow.schema.changes",
        _SWITCH,
        False,
        "A table may change its structure in an incremental snapshot, which reads a chunk again then.",
    ),
    _row("binlog.buffer.size", _NUMBER, 0, "The log is read without looking ahead: a server writes committed changes."),
    _row("min.row.count.to.stream.results", _NUMBER, 1000, "Results of any size are read as they come."),
    _row("use.nongraceful.disconnect", _SWITCH, False, "A connection that is lost is closed at once."),
    _row("enable.time.adjuster", _SWITCH, True, "The server has completed years of two digits before it stores them."),
    _row("database.server.id.offset", _LONG, 10_000, "Connections of a snapshot are not replicas and have no such id."),
    _row("database.query.timeout.ms", _NUMBER, 600_000, "Statements are not ended after a time."),
    _row("connection.validation.timeout.ms", _LONG, 60_000, "Validation connects with connect.timeout.ms."),
    _row("executor.shutdown.timeout.ms", _LONG, 4000, "The worker's task.shutdown.graceful.timeout.ms counts."),
    _row("topic.cache.size", _NUMBER, 10_000, "Names of topics are not made for each record."),
    _row("post.processors", _TEXT, None, "Classes of the JVM cannot be loaded: use transforms."),
    _row("custom.metric.tags", _LIST, (), _METRICS),
    _row("internal.advanced.metrics.enable", _SWITCH, False, _METRICS),
    _row("guardrail.collections.max", _NUMBER, 0, "The number of tables is not limited."),
    _row("guardrail.collections.limit.action", _TEXT, "warn", "The number of tables is not limited."),
    _row(
        "transaction.metadata.factory",
        _CLASS,
        "io.debezium.pipeline.txmetadata.DefaultTransactionMetadataFactory",
        "Records of transactions are as Debezium's connector has them.",
    ),
    _row("unavailable.value.placeholder", _TEXT, "__debezium_unavailable_value", "The server must log whole rows."),
    _row("snapshot.max.threads.multiplier", _NUMBER, 1, "A table's ranges are as many as its size needs."),
    _row("legacy.snapshot.max.threads", _SWITCH, False, "There is one way in which connections share tables."),
    _row("snapshot.mode.custom.name", _TEXT, None, _CUSTOM),
    _row("snapshot.locking.mode.custom.name", _TEXT, None, _CUSTOM),
    _row("snapshot.query.mode.custom.name", _TEXT, None, _CUSTOM),
    _row("internal.snapshot.scan.all.columns.force", _SWITCH, False, "All captured columns are read."),
    _row(
        "internal.log.position.check.enable",
        _SWITCH,
        True,
        "The server is asked for the stored position at each start.",
    ),
    _row(
        "internal.custom.retriable.exception", _TEXT, None, "Errors that are tried again are those of lost connections."
    ),
    _row("internal.schema.history.internal.prefer.ddl", _SWITCH, False, "Structures in the history are preferred."),
    _row("signal.file", _TEXT, "file-signals.txt", "Signals are not read from files."),
    _row("schema.history.internal.name", _TEXT, None, "The topic is the only name."),
    _row(
        "snapshot.new.tables",
        _TEXT,
        "off",
        "Debezium 2.0 dropped it: a signal takes an incremental snapshot of new tables.",
    ),
    _row(
        "gtid.new.channel.position", _TEXT, "earliest", "Debezium 2.0 dropped it: new sources are read from the start."
    ),
    _row("source.struct.version", _TEXT, "v2", "Debezium 2.0 dropped it: there is version 2 alone."),
    _row("openlineage.integration.enabled", _SWITCH, False, _LINEAGE),
    _row("openlineage.integration.config.file.path", _TEXT, "./openlineage.yml", _LINEAGE),
    _row("openlineage.integration.job.namespace", _TEXT, None, _LINEAGE),
    _row("openlineage.integration.job.description", _TEXT, "Debezium change data capture job", _LINEAGE),
    _row("openlineage.integration.job.tags", _LIST, (), _LINEAGE),
    _row("openlineage.integration.job.owners", _LIST, (), _LINEAGE),
    _row("openlineage.integration.dataset.kafka.bootstrap.servers", _TEXT, None, _LINEAGE),
)
_MYSQL_ROWS = (
    _row("database.jdbc.driver", _CLASS, "com.mysql.cj.jdbc.Driver", _DRIVER),
    _row("database.protocol", _TEXT, "jdbc:mysql", _DRIVER),
    _row("ddl.parser.type", _TEXT, "default", "There is one parser."),
    _row("custom.sanitize.pattern", _TEXT, _MYSQL_SECRETS, _SECRETS),
    _row("sourceinfo.struct.maker", _CLASS, "io.debezium.connector.mysql.MySqlSourceInfoStructMaker", _SOURCE),
    _row("statistics.metrics.enabled", _SWITCH, True, _METRICS),
    _row("queue.provider.type", _TEXT, "memory", "Events wait in memory."),
    _row("memory.management.schemas.class", _CLASS, _IN_MEMORY, _MEMORY),
    _row("memory.management.tables.class", _CLASS, _IN_MEMORY, _MEMORY),
    _row(
        "schema.history.internal.kafka.buffer.batch.size",
        _NUMBER,
        1024,
        "Records of a snapshot go to the topic at once.",
    ),
)
_MARIADB_ROWS = (
    _row("custom.sanitize.pattern", _TEXT, _SECRET_NAMES, _SECRETS),
    _row("sourceinfo.struct.maker", _CLASS, "io.debezium.connector.mariadb.MariaDbSourceInfoStructMaker", _SOURCE),
)
MARIADB_WITHOUT_EFFECT = (*_ROWS, *_MARIADB_ROWS)
MYSQL_WITHOUT_EFFECT = (*_ROWS, *_MYSQL_ROWS)


def warnings(rows: tuple[ConfigKey, ...], properties: Mapping[str, str]) -> Iterator[str]:
    """Yield a text for each of these options that a configuration sets to another value than its default."""
    for row in rows:
        given = properties.get(row.name)
        if given is not None and given.strip().lower() != (to_text(row.default, row.type) or "").lower():
            yield f"{row.name} is without effect here. {row.documentation}"
