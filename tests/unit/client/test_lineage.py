import pytest

from connect_dagster.client.connector_classes import Config, find_class
from connect_dagster.client.datasets import (
    KafkaConnectBucketProps,
    KafkaConnectDatasetProps,
    KafkaConnectFileProps,
    KafkaConnectTableProps,
    KafkaConnectTopicProps,
)
from connect_dagster.client.lineage import connector_lineage
from connect_dagster.client.types import Direction
from connect_dagster.isolation.plugins import Kind, Plugins
from tests.unit.orchestration.answers import SINK, SOURCE

# Seed 000's configuration of Debezium, as the topic of configurations shows it.
DEBEZIUM = {
    "name": "mysql_cdc",
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "database.server.name": "mysqlavro",
    "table.include.list": "ops.customers, ops.products",
    "transforms": "rename_topic, unwrap",
    "transforms.rename_topic.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.rename_topic.regex": "(.*)\\.(.*)\\.(.*)",
    "transforms.rename_topic.replacement": "$1-$2-$3",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
}
JDBC_SINK = {
    "name": "products",
    "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
    "connection.url": "jdbc:postgresql://db/shop",
    "topics": "mysql-products",
}


def table(system: str, *path: str) -> KafkaConnectTableProps:
    return KafkaConnectTableProps(system, path)


def ends(config: Config, *active: str) -> list[tuple[str, str]]:
    """What the routes join, in short."""
    return [(_short(route.source), _short(route.target)) for route in connector_lineage(config, active).routes]


def _short(end: KafkaConnectDatasetProps | None) -> str:
    match end:
        case KafkaConnectTopicProps():
            return f"{end.cluster}:{end.topic}" if end.cluster else end.topic
        case KafkaConnectTableProps():
            return f"{end.system} {end.table_name}"
        case KafkaConnectFileProps():
            return end.file
        case KafkaConnectBucketProps():
            return end.uri
        case None:
            return "?"


def test_every_connector_that_ships_is_known() -> None:
    shipped = [plugin.class_name for plugin in Plugins().all((Kind.SOURCE, Kind.SINK))]
    assert [name for name in shipped if find_class({"connector.class": name}) is None] == []


def test_a_source_reads_its_file_and_writes_its_topic() -> None:
    assert ends(SOURCE) == [("/tmp/in.txt", "logs")]


def test_data_is_located_by_its_workspace() -> None:
    config = {**JDBC_SINK, "connector.class": "JdbcSink"}
    located = connector_lineage(config).located("k:9092", ["eu"])
    assert located.inputs == (KafkaConnectTopicProps("mysql-products", None, "k:9092", ("eu",)),)
    (written,) = located.outputs
    assert written == KafkaConnectTableProps("postgres", ("shop", "public", "mysql-products"), key_prefix=("eu",))
    assert isinstance(written, KafkaConnectTableProps)
    assert written.server == "db"
    assert located.topic("mysql-products") == located.inputs[0]


def test_topics_are_named_by_their_clusters_where_the_workspace_names_its_own() -> None:
    config = {"name": "m", **CASES["mirror without renaming"][0], "source.cluster.bootstrap.servers": "a:9092"}
    located = connector_lineage(config).located("b:9092", ["us"], "B")
    assert located.inputs == (KafkaConnectTopicProps("orders", "A", "a:9092"),)
    assert located.outputs == (KafkaConnectTopicProps("orders", "B", "b:9092"),)
    assert located.topic("orders") == located.outputs[0]
    assert located.topics == ("orders",)


@pytest.mark.parametrize(
    ("config", "server"),
    [
        ({**DEBEZIUM, "database.hostname": "db", "database.port": "3306"}, "db:3306"),
        (DEBEZIUM, None),
        (
            {"name": "e", "connector.class": "ElasticsearchSink", "topics": "t", "connection.url": "http://es:9200"},
            "es:9200",
        ),
    ],
)
def test_tables_have_the_server_of_their_connector(config: Config, server: str | None) -> None:
    lineage = connector_lineage(config)
    tables = [end for end in (*lineage.inputs, *lineage.outputs) if isinstance(end, KafkaConnectTableProps)]
    assert {one.server for one in tables} == {server}


def test_a_sink_reads_all_its_topics() -> None:
    lineage = connector_lineage({**SINK, "topics": "b, a"})
    assert lineage.inputs == (KafkaConnectTopicProps("a"), KafkaConnectTopicProps("b"))
    assert lineage.outputs == (KafkaConnectFileProps("/tmp/out.txt"),)
    assert lineage.topics == ("a", "b")


def test_topics_found_at_run_time_complete_a_sink_by_pattern() -> None:
    config = {"name": "s", "connector.class": "FileStreamSink", "topics.regex": "log.*", "file": "/o"}
    assert ends(config, "log-1", "log-2") == [("log-1", "/o"), ("log-2", "/o")]


def test_an_unknown_class_has_its_topics_alone() -> None:
    assert ends({**SOURCE, "connector.class": "acme.Source"}, "logs", "more") == [("?", "logs"), ("?", "more")]
    assert ends({**SINK, "connector.class": "acme.Sink"}) == [("logs", "?")]
    assert connector_lineage({**SINK, "connector.class": "acme.Sink"}).direction is Direction.SINK


def test_debezium_has_a_topic_for_each_table_renamed_by_its_router() -> None:
    assert ends(DEBEZIUM) == [
        ("mysql ops.customers", "mysqlavro-ops-customers"),
        ("mysql ops.products", "mysqlavro-ops-products"),
    ]


CASES: dict[str, tuple[Config, list[str], list[tuple[str, str]]]] = {
    "tables by pattern show in active topics": (
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "pg",
            "database.dbname": "shop",
            "table.include.list": r"public\.a,sales.*",
        },
        ["pg.sales.b", "pg"],
        [("postgres shop.public.a", "pg.public.a"), ("postgres shop.sales.b", "pg.sales.b"), ("?", "pg")],
    ),
    "sqlserver": (
        {
            "connector.class": "io.debezium.connector.sqlserver.SqlServerConnector",
            "topic.prefix": "ms",
            "database.names": "shop",
            "table.include.list": "dbo.a",
        },
        [],
        [("sqlserver shop.dbo.a", "ms.shop.dbo.a")],
    ),
    "all tables of a database": (
        {
            "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
            "connection.url": "jdbc:mysql://h/shop",
            "topic.prefix": "my-",
        },
        ["my-a"],
        [("mysql shop.a", "my-a")],
    ),
    "jdbc query": (
        {
            "connector.class": "io.aiven.connect.jdbc.JdbcSourceConnector",
            "connection.url": "jdbc:mysql://h/shop",
            "query": "select 1",
            "topic.prefix": "numbers",
        },
        [],
        [("?", "numbers")],
    ),
    "jdbc sink": (
        {
            "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
            "connection.url": "jdbc:postgresql://db/shop",
            "topics": "products",
            "table.name.format": "raw.k_${topic}",
        },
        [],
        [("products", "postgres shop.raw.k_products")],
    ),
    "debezium's jdbc sink": (
        {
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
            "connection.url": "jdbc:mysql://db/shop",
            "topics": "pg.public.a",
        },
        [],
        [("pg.public.a", "mysql shop.pg_public_a")],
    ),
    "mirror": (
        {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "source.cluster.alias": "A",
            "topics": "orders, .*-log",
        },
        ["A.a-log"],
        [("A:a-log", "A.a-log"), ("A:orders", "A.orders")],
    ),
    "mirror without renaming": (
        {
            "connector.class": "MirrorSourceConnector",
            "source.cluster.alias": "A",
            "topics": "orders",
            "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        },
        [],
        [("A:orders", "orders")],
    ),
    "mirror with another separator, over two hops": (
        {
            "connector.class": "MirrorSourceConnector",
            "source.cluster.alias": "B",
            "topics": ".*",
            "replication.policy.separator": "_",
        },
        ["B_A_orders", "C_orders"],
        [("B:A_orders", "B_A_orders"), ("?", "C_orders")],
    ),
    "mirror with a policy that is not known": (
        {
            "connector.class": "MirrorSourceConnector",
            "source.cluster.alias": "A",
            "topics": "orders",
            "replication.policy.class": "acme.SuffixPolicy",
        },
        ["orders@A"],
        [("?", "orders@A")],
    ),
    "mirror with a router": (
        {
            "connector.class": "MirrorSourceConnector",
            "source.cluster.alias": "A",
            "topics": "orders",
            "transforms": "short",
            "transforms.short.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.short.regex": "A.(.*)",
            "transforms.short.replacement": "$1",
        },
        ["orders", "A.customers"],
        [("A:orders", "orders"), ("?", "A.customers")],
    ),
    "mirrored heartbeats and MirrorMaker's own topics": (
        {"connector.class": "MirrorSourceConnector", "source.cluster.alias": "A", "topics": "orders,heartbeats"},
        ["A.heartbeats", "mm2-offset-syncs.A.internal"],
        [("A:orders", "A.orders")],
    ),
    "heartbeats": ({"connector.class": "MirrorHeartbeatConnector"}, ["heartbeats"], []),
    "checkpoints": (
        {"connector.class": "MirrorCheckpointConnector", "source.cluster.alias": "A", "groups": "billing"},
        ["A.checkpoints.internal"],
        [],
    ),
    "iceberg": (
        {
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "topics": "a",
            "iceberg.tables": "db.t1, db.t2",
        },
        [],
        [("a", "iceberg db.t1"), ("a", "iceberg db.t2")],
    ),
    "s3": (
        {"connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": "a", "s3.bucket.name": "lake"},
        [],
        [("a", "s3://lake/topics/a")],
    ),
    "elasticsearch": (
        {"connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector", "topics": "Logs"},
        [],
        [("Logs", "elasticsearch logs")],
    ),
    "mongodb source": (
        {
            "connector.class": "com.mongodb.kafka.connect.MongoSourceConnector",
            "database": "shop",
            "collection": "orders",
            "topic.prefix": "m",
        },
        [],
        [("mongodb shop.orders", "m.shop.orders")],
    ),
    "mongodb sink": (
        {"connector.class": "com.mongodb.kafka.connect.MongoSinkConnector", "topics": "a", "database": "shop"},
        [],
        [("a", "mongodb shop.a")],
    ),
    "a sink's router decides the table": (
        {
            **JDBC_SINK,
            "transforms": "r",
            "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.r.regex": "mysql-(.*)",
            "transforms.r.replacement": "$1",
        },
        [],
        [("mysql-products", "postgres shop.public.products")],
    ),
}


@pytest.mark.parametrize(("config", "active", "expected"), CASES.values(), ids=CASES.keys())
def test_well_known_classes_tell_both_ends(config: Config, active: list[str], expected: list[tuple[str, str]]) -> None:
    assert ends({"name": "c", **config}, *active) == expected


def test_the_topic_of_dead_letters_is_none_that_the_connector_moves_records_through() -> None:
    config = {**SINK, "errors.deadletterqueue.topic.name": "dead"}
    lineage = connector_lineage(config, ["logs", "dead"])
    assert (lineage.topics, lineage.dead_letter_topic) == (("logs",), "dead")


def test_the_workers_word_on_the_direction_counts() -> None:
    config = {"name": "c", "connector.class": "acme.Mirror", "topics": "a"}
    assert connector_lineage(config, ["b"], Direction.SOURCE).outputs == (KafkaConnectTopicProps("b"),)
