"""Sources and targets of connectors of well-known classes, by their configuration: one table, a row for each class.

A source's row gives routes from what it reads to topics; a sink's row gives the destination of a topic's records. Names
are those before transforms; :mod:`connect_dagster.client.lineage` takes transforms into account. A
class that is not in the table has its topics and nothing else.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from connect_dagster.client.datasets import (
    KafkaConnectBucketProps,
    KafkaConnectDatasetProps,
    KafkaConnectFileProps,
    KafkaConnectTableProps,
    KafkaConnectTopicProps,
)
from connect_dagster.client.jdbc_url import jdbc_database
from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.client.spark_datasets import spark_dataset, spark_system
from connect_dagster.client.topic_routing import keeps_topics

Config: TypeAlias = Mapping[str, str | None]
SourceRoute: TypeAlias = tuple[KafkaConnectDatasetProps | None, str]

_LITERAL_NAME = re.compile(r"[\w$.-]+")


@dataclass(frozen=True, slots=True)
class SourceClass:
    """A class of sources.

    Attributes:
        system: Returns the kind of store for a configuration.
        routes: Gives what is read with its topic, from a configuration and topics known to have been written.
        is_state: Returns whether a topic that it writes has records of the connector's own instead of data.
        is_tabular: Whether files and objects that it reads have columns.
    """

    system: Callable[[Config], str | None]
    routes: Callable[[Config, Collection[str]], Iterable[SourceRoute]]
    is_state: Callable[[Config, str], bool] = lambda _, __: False
    is_tabular: bool = False


@dataclass(frozen=True, slots=True)
class SinkClass:
    """A class of sinks.

    Attributes:
        system: Returns the kind of store for a configuration.
        landings: Gives what the records of a topic are written to.
        is_tabular: Whether files and objects that it writes have columns.
    """

    system: Callable[[Config], str | None]
    landings: Callable[[Config, str], Iterable[KafkaConnectDatasetProps]]
    is_tabular: bool = False


def listed(text: str | None) -> list[str]:
    """Return the entries of a list in a configuration."""
    return [entry.strip() for entry in (text or "").split(",") if entry.strip()]


def find_class(config: Config) -> SourceClass | SinkClass | None:
    """Return the row for a connector, by the full name of its class, or the simple one, ``Connector`` optional."""
    name = config.get("connector.class") or ""
    return CLASSES.get(name) or CLASSES.get(simple_name(name))


def has_columns(config: Config, end: KafkaConnectDatasetProps | None) -> bool:
    """Return whether data at an end of a connector has columns: tables and topics do, files of some classes."""
    if isinstance(end, KafkaConnectTableProps | KafkaConnectTopicProps):
        return True
    kind = find_class(config)
    return end is not None and kind is not None and kind.is_tabular


def simple_name(connector_class: str) -> str:
    """Return the name of a class without its package and without ``Connector`` at its end."""
    return connector_class.rpartition(".")[2].removesuffix("Connector")


def _always(system: str) -> Callable[[Config], str]:
    return lambda _: system


def _literal_names(text: str | None) -> list[str]:
    r"""Entries of a list of patterns that are plain names; Debezium's lists escape the dot as ``\.``."""
    names = [entry.replace("\\.", ".") for entry in listed(text)]
    return [name for name in names if _LITERAL_NAME.fullmatch(name)]


def _file_source(config: Config, _: Collection[str]) -> Iterable[SourceRoute]:
    file, topic = config.get("file"), config.get("topic")
    if topic:
        yield (KafkaConnectFileProps(file) if file else None), topic


def _file_sink(config: Config, _: str) -> Iterable[KafkaConnectDatasetProps]:
    if file := config.get("file"):
        yield KafkaConnectFileProps(file)


def _spark_source(config: Config, _: Collection[str]) -> Iterable[SourceRoute]:
    if topic := config.get("topic"):
        yield spark_dataset(config), topic


def _spark_sink(config: Config, _: str) -> Iterable[KafkaConnectDatasetProps]:
    if dataset := spark_dataset(config):
        yield dataset


def _jdbc_system(config: Config) -> str | None:
    database = jdbc_database(config.get("connection.url") or "")
    return database.system if database else None


def _jdbc_source(config: Config, active_topics: Collection[str]) -> Iterable[SourceRoute]:
    """Return the routes: prefix + table for each listed table, the prefix for a query."""
    prefix = config.get("topic.prefix") or ""
    if config.get("query"):
        yield None, prefix
        return
    database = jdbc_database(config.get("connection.url") or "")
    tables = set(_literal_names(config.get("table.whitelist") or config.get("table.include.list")))
    if not tables and keeps_topics(config):
        # All tables of the database, as far as they have been written.
        tables = {topic.removeprefix(prefix) for topic in active_topics if topic.startswith(prefix)}
    for table in sorted(tables):
        props = (
            KafkaConnectTableProps(database.system, database.table_path(table), database.server) if database else None
        )
        yield props, prefix + table.rpartition(".")[2]


def _jdbc_sink(config: Config, topic: str) -> Iterable[KafkaConnectDatasetProps]:
    database = jdbc_database(config.get("connection.url") or "")
    if database:
        name = (config.get("table.name.format") or "${topic}").replace("${topic}", topic)
        yield KafkaConnectTableProps(database.system, database.table_path(name), database.server)


def _debezium_jdbc_sink(config: Config, topic: str) -> Iterable[KafkaConnectDatasetProps]:
    """Debezium's own sink has no dots in the table names it makes of topics."""
    database = jdbc_database(config.get("connection.url") or "")
    if database:
        wanted = config.get("collection.name.format") or config.get("table.name.format") or "${topic}"
        name = wanted.replace("${topic}", topic.replace(".", "_"))
        yield KafkaConnectTableProps(database.system, database.table_path(name), database.server)


def _debezium(system: str, *, database_key: str = "", databases_key: str = "", listing: str = "table") -> SourceClass:
    """Return a Debezium source, whose topics are prefix.namespace.table.

    Args:
        system: Kind of database.
        database_key: Property with the database's name, when topics begin with the schema.
        databases_key: Property with databases' names, when lists begin with the schema, but topics with the database.
        listing: What is listed in ``….include.list`` or, before Debezium 2, in ``….whitelist``.
    """

    def routes(config: Config, active_topics: Collection[str]) -> Iterable[SourceRoute]:
        prefix = config.get("topic.prefix") or config.get("database.server.name") or ""
        database = config.get(database_key) if database_key else None
        names = set(_literal_names(config.get(f"{listing}.include.list") or config.get(f"{listing}.whitelist")))
        if databases_key:
            names = {f"{one}.{name}" for one in _literal_names(config.get(databases_key)) for name in names}
        if keeps_topics(config):
            # Tables that the lists give by a pattern, or not at all, show in the topics they were written to.
            written = (topic.removeprefix(f"{prefix}.") for topic in active_topics if topic.startswith(f"{prefix}."))
            names |= {name for name in written if "." in name}
        for name in sorted(names):
            path = (*([database] if database else []), *name.split("."))
            yield KafkaConnectTableProps(system, path, _debezium_server(config)), f"{prefix}.{name}"

    return SourceClass(_always(system), routes)


def _debezium_server(config: Config) -> str | None:
    return ":".join(filter(None, (config.get("database.hostname"), config.get("database.port")))) or None


def _mirror_source(config: Config, active_topics: Collection[str]) -> Iterable[SourceRoute]:
    """Return the topics of another cluster, with the names that the replication policy gives them."""
    names = MirrorNames.of(config)
    found = {topic: names.remote(topic) for topic in _literal_names(config.get("topics")) if not names.is_state(topic)}
    if keeps_topics(config):
        found |= {upstream: topic for topic in active_topics if (upstream := names.upstream(topic)) is not None}
    servers = config.get("source.cluster.bootstrap.servers")
    for name, remote in sorted(found.items()):
        if remote is not None:
            yield KafkaConnectTopicProps(name, names.source, servers), remote


def _is_mirror_state(config: Config, topic: str) -> bool:
    return MirrorNames.of(config).is_state(topic)


def _no_routes(_: Config, __: Collection[str]) -> Iterable[SourceRoute]:
    return ()


def _mongo_source(config: Config, _: Collection[str]) -> Iterable[SourceRoute]:
    database, collection = config.get("database"), config.get("collection")
    if database and collection:
        topic = ".".join(filter(None, (config.get("topic.prefix"), database, collection, config.get("topic.suffix"))))
        yield KafkaConnectTableProps("mongodb", (database, collection)), topic


def _mongo_sink(config: Config, topic: str) -> Iterable[KafkaConnectDatasetProps]:
    if database := config.get("database"):
        yield KafkaConnectTableProps("mongodb", (database, config.get("collection") or topic))


def _iceberg_sink(config: Config, _: str) -> Iterable[KafkaConnectDatasetProps]:
    for table in listed(config.get("iceberg.tables")):
        yield KafkaConnectTableProps("iceberg", tuple(table.split(".")))


def _bucket_sink(system: str, *bucket_keys: str) -> SinkClass:
    def landings(config: Config, topic: str) -> Iterable[KafkaConnectDatasetProps]:
        bucket = next((value for key in bucket_keys if (value := config.get(key))), None)
        if bucket:
            yield KafkaConnectBucketProps(system, bucket, f"{config.get('topics.dir') or 'topics'}/{topic}")

    return SinkClass(_always(system), landings)


def _index_sink(system: str) -> SinkClass:
    """Return a sink with one index for each topic, in lower case."""

    def landings(config: Config, topic: str) -> Iterable[KafkaConnectDatasetProps]:
        server = urlsplit(config.get("connection.url") or "").netloc.rpartition("@")[2]
        yield KafkaConnectTableProps(system, (topic.lower(),), server or None)

    return SinkClass(_always(system), landings)


CLASSES: Mapping[str, SourceClass | SinkClass] = {
    "FileStreamSource": SourceClass(_always("file"), _file_source),
    "FileStreamSink": SinkClass(_always("file"), _file_sink),
    "JdbcSource": SourceClass(_jdbc_system, _jdbc_source),
    "JdbcSink": SinkClass(_jdbc_system, _jdbc_sink),
    "io.debezium.connector.jdbc.JdbcSinkConnector": SinkClass(_jdbc_system, _debezium_jdbc_sink),
    "MySql": _debezium("mysql"),
    "MariaDb": _debezium("mariadb"),
    "Postgres": _debezium("postgres", database_key="database.dbname"),
    "SqlServer": _debezium("sqlserver", databases_key="database.names"),
    "Oracle": _debezium("oracle", database_key="database.dbname"),
    "MongoDb": _debezium("mongodb", listing="collection"),
    "MongoSource": SourceClass(_always("mongodb"), _mongo_source),
    "MongoSink": SinkClass(_always("mongodb"), _mongo_sink),
    "MirrorSource": SourceClass(_always("kafka"), _mirror_source, _is_mirror_state),
    "MirrorCheckpoint": SourceClass(_always("kafka"), _no_routes, _is_mirror_state),
    "MirrorHeartbeat": SourceClass(_always("kafka"), _no_routes, _is_mirror_state),
    "SparkSource": SourceClass(spark_system, _spark_source, is_tabular=True),
    "SparkSink": SinkClass(spark_system, _spark_sink, is_tabular=True),
    "IcebergSink": SinkClass(_always("iceberg"), _iceberg_sink),
    "S3Sink": _bucket_sink("s3", "s3.bucket.name", "aws.s3.bucket.name"),
    "AivenKafkaConnectS3Sink": _bucket_sink("s3", "aws.s3.bucket.name", "aws_s3_bucket_name"),
    "GcsSink": _bucket_sink("gcs", "gcs.bucket.name"),
    "ElasticsearchSink": _index_sink("elasticsearch"),
    "OpenSearchSink": _index_sink("opensearch"),
}
