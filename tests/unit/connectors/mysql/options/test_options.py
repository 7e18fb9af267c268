"""Options of both connectors by value: default, other value, wrong value; and what the groups make of them."""

import json
import logging
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.backoff import Backoff
from connect_dagster.connectors.mysql.locking_modes import LOCKS, LockingMode
from connect_dagster.connectors.mysql.options.config import BinlogConfig, MariaDbConfig, MySqlConfig
from connect_dagster.connectors.mysql.options.failures import DEFAULT_RULES, FailureMode, FailureRules, Reconnects
from connect_dagster.connectors.mysql.options.old_names import OLD_NAMES
from connect_dagster.connectors.mysql.options.signals import SignalTopic
from connect_dagster.connectors.mysql.options.snapshots import IncrementalOptions, TableOrder, WatermarkStrategy
from connect_dagster.connectors.mysql.records.envelope import Operation
from connect_dagster.connectors.mysql.records.name_adjustment import NameAdjustment
from connect_dagster.connectors.mysql.records.topics import TopicNames
from connect_dagster.connectors.mysql.records.type_modes import (
    BigIntUnsignedMode,
    BinaryMode,
    DecimalMode,
    TimePrecisionMode,
    TypeModes,
)
from connect_dagster.connectors.mysql.selection.filters import HistoryScope
from connect_dagster.connectors.mysql.server.login import LogSession
from connect_dagster.connectors.mysql.server.tls import DEMANDS, MariaDbTlsMode, MySqlTlsMode
from connect_dagster.connectors.mysql.snapshot_modes import MODES, SnapshotMode, SnapshotPlan, When
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config.table import Properties
from tests.mysql_options import MINIMAL

BOTH: tuple[type[MySqlConfig | MariaDbConfig], ...] = (MySqlConfig, MariaDbConfig)
HISTORY = "schema.history.internal"


def mysql(**given: str) -> MySqlConfig:
    return MySqlConfig.parse({**MINIMAL, **{name.replace("_", "."): value for name, value in given.items()}})


def errors(config: type[BinlogConfig], given: Properties) -> dict[str, list[str]]:
    return {value.name: value.errors for value in config.validate_all(given) if value.errors}


@pytest.mark.parametrize("config", BOTH)
def test_minimal(config: type[MySqlConfig | MariaDbConfig]) -> None:
    assert errors(config, MINIMAL) == {}
    assert config.warnings(MINIMAL) == []
    parsed = config.parse(MINIMAL)
    assert (parsed.host, parsed.port, parsed.user, parsed.server_id) == ("db.example", 3306, "kim", 184054)
    assert parsed.plan == MODES[SnapshotMode.INITIAL]
    assert parsed.snapshot_locks == LOCKS[LockingMode.MINIMAL]
    assert parsed.type_modes == TypeModes()
    assert parsed.topic_names == TopicNames("shop")
    assert parsed.log_session == LogSession()
    assert parsed.reconnects == Reconnects(None, Backoff(0.3, 10.0))
    assert parsed.skipped_operations == {Operation.TRUNCATE}
    assert parsed.incremental == IncrementalOptions(20_000, WatermarkStrategy.INSERT_INSERT)
    assert (parsed.threads, parsed.batch_bytes) == (2, 8 << 20)
    assert (parsed.signal_table, parsed.signal_topic("shop"), parsed.sends_notifications) == (None, None, None)
    assert (parsed.heartbeat_ms, parsed.logs_notifications, parsed.history_scope) == (
        0,
        False,
        HistoryScope.ALL,
    )
    assert parsed.filters.captured([TableId("a", "b"), TableId("mysql", "user")]) == [TableId("a", "b")]
    assert parsed.message_keys.columns == ()
    assert parsed.column_rules.rules == ()
    assert parsed.column_converters == ()
    assert parsed.overrides.statements == {}


@pytest.mark.parametrize("config", BOTH)
@pytest.mark.parametrize("missing", list(MINIMAL))
def test_required(config: type[BinlogConfig], missing: str) -> None:
    given = {name: value for name, value in MINIMAL.items() if name != missing}
    found = errors(config, given)
    assert list(found) == [missing]
    assert found[missing][0] == f'Missing required configuration "{missing}" which has no default value.'
    with pytest.raises(ConfigError, match=missing):
        config.parse(given)


WRONG = [
    ("database.hostname", "db:3306/shop", "must be the name or the address of a host"),
    ("database.port", "0", "at least 1"),
    ("database.port", "65536", "no more than 65535"),
    ("database.port", "x", "Not a number of type INT"),
    ("database.user", "", "non-empty"),
    ("database.server.id", "0", "at least 1"),
    ("database.server.id", "4294967296", "no more than 4294967295"),
    ("connect.timeout.ms", "0", "at least 1"),
    ("connect.keep.alive", "maybe", "true or false"),
    ("connect.keep.alive.interval.ms", "0", "at least 1"),
    ("binlog.net.write.timeout", "-1", "at least 0"),
    ("binlog.net.read.timeout", "-1", "at least 0"),
    ("topic.prefix", "my shop", "Only letters and digits of ASCII"),
    ("topic.prefix", "x" * 250, "at most 249 characters"),
    ("topic.delimiter", "/", "Only letters"),
    ("topic.heartbeat.prefix", "a/b", "Only letters"),
    ("topic.heartbeat.name", "a/b", "Only letters"),
    ("topic.transaction", "", "Only letters"),
    ("topic.naming.strategy", "com.example.Naming", "leave it out, or set it to io.debezium.schema.Default"),
    ("schema.name.adjustment.mode", "json", "It must be one of none, avro, avro_unicode"),
    ("field.name.adjustment.mode", "json", "It must be one of none, avro, avro_unicode"),
    ("database.include.list", "(", "Invalid regex"),
    ("database.exclude.list", "(", "Invalid regex"),
    ("table.include.list", "a.b,(", "Invalid regex"),
    ("table.exclude.list", "(", "Invalid regex"),
    ("column.include.list", "(", "Invalid regex"),
    ("column.exclude.list", "(", "Invalid regex"),
    ("gtid.source.includes", "(", "Invalid regex"),
    ("gtid.source.excludes", "(", "Invalid regex"),
    ("message.key.columns", "shop.orders", "database.table:column"),
    ("column.propagate.source.type", "(", "Invalid regex"),
    ("datatype.propagate.source.type", "(", "Invalid regex"),
    ("decimal.handling.mode", "structured", "It must be one of precise, double, string"),
    ("time.precision.mode", "adaptive", "refuse it too.*it can be adaptive_time_microseconds, isostring"),
    ("bigint.unsigned.handling.mode", "string", "It must be one of long, precise"),
    ("binary.handling.mode", "text", "It must be one of bytes, base64"),
    ("skipped.operations", "c,x", "'x' is not an operation, which are c, u, d, r, t"),
    ("skipped.operations", "none,c", "'none' is not given together"),
    ("max.queue.size.in.bytes", "-1", "at least 0"),
    ("poll.interval.ms", "0", "at least 1"),
    ("event.processing.failure.handling.mode", "retry", "It must be one of fail, warn, skip, ignore"),
    ("inconsistent.schema.handling.mode", "retry", "It must be one of fail, warn, skip, ignore"),
    ("event.converting.failure.handling.mode", "ignore", "It must be one of fail, warn, skip"),
    ("errors.max.retries", "many", "Not a number"),
    ("errors.retry.delay.initial.ms", "0", "at least 1"),
    ("retriable.restart.connector.wait.ms", "0", "at least 1"),
    ("snapshot.mode", "custom", "A snapshotter of the JVM cannot be loaded"),
    ("snapshot.mode", "sometimes", "It must be one of always, when_needed, initial"),
    ("snapshot.locking.mode", "custom", "A class of the JVM cannot be loaded"),
    ("snapshot.query.mode", "custom", "snapshot.select.statement.overrides gives tables own statements"),
    ("snapshot.include.collection.list", "(", "Invalid regex"),
    ("snapshot.select.statement.overrides", "orders", "database.table"),
    ("snapshot.max.threads", "0", "at least 1"),
    ("snapshot.max.threads", "65", "no more than 64"),
    ("snapshot.fetch.size", "-1", "at least 0"),
    ("snapshot.lock.timeout.ms", "-1", "at least 0"),
    ("snapshot.delay.ms", "-1", "at least 0"),
    ("streaming.delay.ms", "-1", "at least 0"),
    ("snapshot.tables.order.by.row.count", "up", "It must be one of disabled, ascending, descending"),
    ("incremental.snapshot.chunk.size", "0", "at least 1"),
    ("incremental.snapshot.watermarking.strategy", "x", "It must be one of INSERT_INSERT, INSERT_DELETE"),
    ("read.only", "true", "writes to the signal table"),
    ("signal.data.collection", "a.b,c.d", "only one table is allowed"),
    ("signal.data.collection", "signals", "database.table"),
    ("signal.enabled.channels", "source,mail", "'mail' is not a channel, which are source, kafka"),
    ("signal.poll.interval.ms", "0", "at least 1"),
    ("signal.kafka.topic", "a/b", "Only letters"),
    ("signal.kafka.poll.timeout.ms", "-1", "at least 0"),
    ("notification.enabled.channels", "mail", "'mail' is not a channel, which are sink, log"),
    ("notification.sink.topic.name", "a/b", "Only letters"),
    ("heartbeat.interval.ms", "-1", "at least 0"),
    (HISTORY, "io.debezium.storage.file.history.FileSchemaHistory", "the schema history is in a topic"),
    (f"{HISTORY}.kafka.topic", "a b", "Only letters"),
    (f"{HISTORY}.kafka.bootstrap.servers", "", "non-empty"),
    (f"{HISTORY}.ddl.filter", "(", "Invalid regex"),
    (f"{HISTORY}.kafka.recovery.poll.interval.ms", "-1", "at least 0"),
    (f"{HISTORY}.kafka.query.timeout.ms", "0", "at least 1"),
    (f"{HISTORY}.kafka.create.timeout.ms", "0", "at least 1"),
    ("database.ssl.mode", "on", "It must be one of disable"),
]


@pytest.mark.parametrize("config", BOTH)
@pytest.mark.parametrize(("name", "value", "text"), WRONG)
def test_wrong_value(config: type[BinlogConfig], name: str, value: str, text: str) -> None:
    given = {**MINIMAL, name: value}
    with pytest.raises(ConfigError, match=text) as raised:
        config.parse(given)
    assert raised.value.name == name
    found = errors(config, given)
    assert set(found) == {name}
    shown = re.escape(value.replace(",", ", "))
    assert re.match(rf"Invalid value (.*{shown}.*|\() for configuration {re.escape(name)}: ", found[name][0])


@pytest.mark.parametrize("config", BOTH)
def test_every_checked_option_has_a_wrong_value(config: type[BinlogConfig]) -> None:
    tried = {name for name, _, _ in WRONG}
    assert {key.name for key in config.table() if key.validator is not None} <= tried


MODE_NAMES = [(mode.value, mode) for mode in FailureMode]


def reacting(**modes: FailureMode) -> FailureRules:
    """The reactions of a connector at its defaults, but for some."""
    return replace(
        DEFAULT_RULES, **{name: replace(getattr(DEFAULT_RULES, name), mode=mode) for name, mode in modes.items()}
    )


@pytest.mark.parametrize(
    ("name", "values", "attribute"),
    [
        ("snapshot.mode", {mode.value: plan for mode, plan in MODES.items()}, "plan"),
        ("snapshot.mode", {"schema_only": MODES[SnapshotMode.NO_DATA]}, "plan"),
        ("snapshot.locking.mode", {mode.value: locks for mode, locks in LOCKS.items()}, "snapshot_locks"),
        ("database.ssl.mode", {mode.value.upper(): DEMANDS[mode] for mode in MySqlTlsMode}, "tls"),
        ("decimal.handling.mode", {m.value: TypeModes(decimals=m) for m in DecimalMode}, "type_modes"),
        ("time.precision.mode", {m.value: TypeModes(times=m) for m in TimePrecisionMode}, "type_modes"),
        (
            "bigint.unsigned.handling.mode",
            {m.value: TypeModes(unsigned_bigints=m) for m in BigIntUnsignedMode},
            "type_modes",
        ),
        ("binary.handling.mode", {m.value: TypeModes(binary=m) for m in BinaryMode}, "type_modes"),
        ("schema.name.adjustment.mode", {m.value: m for m in NameAdjustment}, "schema_name_adjustment"),
        ("field.name.adjustment.mode", {m.value: m for m in NameAdjustment}, "field_name_adjustment"),
        ("snapshot.tables.order.by.row.count", {order.value: order for order in TableOrder}, "table_order"),
        (
            "event.processing.failure.handling.mode",
            {name: reacting(events=mode) for name, mode in (*MODE_NAMES, ("ignore", FailureMode.SKIP))},
            "failures",
        ),
        (
            "inconsistent.schema.handling.mode",
            {name: reacting(schemas=mode) for name, mode in (*MODE_NAMES, ("ignore", FailureMode.SKIP))},
            "failures",
        ),
        (
            "event.converting.failure.handling.mode",
            {name: reacting(values=mode) for name, mode in MODE_NAMES},
            "failures",
        ),
        ("topic.delimiter", {"_": TopicNames("shop", delimiter="_")}, "topic_names"),
        ("topic.heartbeat.prefix", {"beat": TopicNames("shop", heartbeat="beat")}, "topic_names"),
        ("heartbeat.topics.prefix", {"beat": TopicNames("shop", heartbeat="beat")}, "topic_names"),
        ("topic.heartbeat.name", {"b": TopicNames("shop", heartbeat_name="b"), "": TopicNames("shop")}, "topic_names"),
        ("topic.transaction", {"tx": TopicNames("shop", transaction="tx")}, "topic_names"),
        (
            "skipped.operations",
            {"none": set(), "": set(), "c, d": {Operation.CREATE, Operation.DELETE}},
            "skipped_operations",
        ),
        ("extended.headers.enabled", {"false": False}, "with_context_headers"),
        ("max.queue.size.in.bytes", {"7": 1 << 16, "0": 8 << 20, "1000000": 1_000_000}, "batch_bytes"),
        ("snapshot.max.threads", {"1": 1, "8": 8}, "threads"),
        ("heartbeat.interval.ms", {"1500": 1500, "0": 0}, "heartbeat_ms"),
        ("signal.data.collection", {"shop.signals": TableId("shop", "signals"), "": None}, "signal_table"),
        ("notification.enabled.channels", {"log": True, "jmx": False}, "logs_notifications"),
        ("database.initial.statements", {"SET a = 1;": ("SET a = 1",)}, "first_statements"),
        ("connect.keep.alive", {"false": LogSession(keep_alive_ms=None)}, "log_session"),
        ("connect.keep.alive.interval.ms", {"5000": LogSession(keep_alive_ms=5000)}, "log_session"),
        ("binlog.net.write.timeout", {"7": LogSession(write_seconds=7)}, "log_session"),
        ("binlog.net.read.timeout", {"7": LogSession(read_seconds=7)}, "log_session"),
        (f"{HISTORY}.store.only.captured.tables.ddl", {"true": HistoryScope.CAPTURED_TABLES}, "history_scope"),
        ("database.history.store.only.monitored.tables.ddl", {"true": HistoryScope.CAPTURED_TABLES}, "history_scope"),
        (f"{HISTORY}.store.only.captured.databases.ddl", {"true": HistoryScope.CAPTURED_DATABASES}, "history_scope"),
        (
            "errors.max.retries",
            {"3": Reconnects(3, Backoff(0.3, 10)), "-5": Reconnects(None, Backoff(0.3, 10))},
            "reconnects",
        ),
        ("errors.retry.delay.initial.ms", {"20000": Reconnects(None, Backoff(20, 20))}, "reconnects"),
        ("errors.retry.delay.max.ms", {"60000": Reconnects(None, Backoff(0.3, 60))}, "reconnects"),
        ("retriable.restart.connector.wait.ms", {"500": Reconnects(None, Backoff(0.3, 0.5))}, "reconnects"),
        (
            "incremental.snapshot.chunk.size",
            {"1024": IncrementalOptions(1024, WatermarkStrategy.INSERT_INSERT)},
            "incremental",
        ),
        (
            "incremental.snapshot.watermarking.strategy",
            {"insert_delete": IncrementalOptions(20_000, WatermarkStrategy.INSERT_DELETE)},
            "incremental",
        ),
    ],
)
def test_value(name: str, values: dict[str, Any], attribute: str) -> None:
    for value, expected in values.items():
        assert getattr(MySqlConfig.parse({**MINIMAL, name: value}), attribute) == expected


@pytest.mark.parametrize("mode", MariaDbTlsMode)
def test_tls_of_mariadb(mode: MariaDbTlsMode) -> None:
    assert MariaDbConfig.parse({**MINIMAL, "database.ssl.mode": mode.value}).tls == DEMANDS[mode]


def test_locks_of_mariadb() -> None:
    assert MariaDbConfig.parse({**MINIMAL, "snapshot.locking.mode": "none"}).snapshot_locks.lock is None
    with pytest.raises(ConfigError, match="It must be one of extended, minimal, none"):
        MariaDbConfig.parse({**MINIMAL, "snapshot.locking.mode": "minimal_percona"})


def test_snapshot_by_switches() -> None:
    prefix = "snapshot.mode.configuration.based."
    switches = (
        "snapshot.data",
        "snapshot.schema",
        "start.stream",
        "snapshot.on.schema.error",
        "snapshot.on.data.error",
    )
    given = {**MINIMAL, "snapshot.mode": "configuration_based"}
    assert MySqlConfig.parse(given).plan == SnapshotPlan(When.NEVER, When.NEVER, streams=False)
    given |= {f"{prefix}{switch}": "true" for switch in switches}
    assert MySqlConfig.parse(given).plan == SnapshotPlan(
        When.ALWAYS, When.ALWAYS, again_without_history=True, again_without_position=True
    )


def test_filters() -> None:
    config = mysql(
        table_include_list="ops.customers, ops.orders",
        column_exclude_list=r"ops\.orders\.note",
        snapshot_include_collection_list="ops.orders",
        signal_data_collection="sys.signals",
    )
    tables = [
        TableId("ops", "customers"),
        TableId("ops", "customers_old"),
        TableId("ops", "orders"),
        TableId("sys", "signals"),
    ]
    assert config.filters.captured(tables) == [tables[0], tables[2], tables[3]]
    assert config.filters.in_snapshot(tables) == [tables[2]]
    assert config.filters.columns_of(tables[2], ["id", "note"]) == ["id"]
    excluding = mysql(database_exclude_list="ops", table_ignore_builtin="false")
    assert excluding.filters.captured(tables) == [tables[3]]


def test_escaped_comma() -> None:
    config = mysql(table_include_list=r"ops\.a{1\,2},ops.b")
    assert config.filters.captured([TableId("ops", "aa"), TableId("ops", "b")]) == [("ops", "aa"), ("ops", "b")]


def test_gtid_sources() -> None:
    assert mysql(gtid_source_includes="3e11.*").gtid_sources.kept(["3e11", "b5cd"]) == ["3e11"]
    excluding = mysql(gtid_source_excludes="3e11.*", gtid_source_filter_dml_events="false").gtid_sources
    assert excluding.kept(["3e11", "b5cd"]) == ["b5cd"]
    assert excluding.keeps_rows("3e11")


def test_columns() -> None:
    config = mysql(message_key_columns="shop.orders:code", column_mask_with_3_chars="shop.orders.note")
    assert config.message_keys.of_table(TableId("shop", "orders"), ["id", "code"]) == ("code",)
    assert len(config.column_rules.rules) == 1


def test_overrides() -> None:
    name = "snapshot.select.statement.overrides"
    given = {**MINIMAL, name: "shop.orders,shop.items", f"{name}.shop.orders": "SELECT 1"}
    assert MySqlConfig.parse(given).overrides.statements == {TableId("shop", "orders"): "SELECT 1"}
    assert MySqlConfig.warnings(given) == [f"{name} names shop.items, but the statement {name}.shop.items is missing"]


def test_snapshot_tables() -> None:
    assert mysql(snapshot_include_collection_list="a.b").of_snapshot.matching(["a.b", "a.c"]) == ["a.b"]


def test_login() -> None:
    config = mysql(database_password="secret", database_ssl_mode="disabled", connect_timeout_ms="2500")
    login = config.login(config.tls)
    assert (login.host, login.port, login.user, login.password) == ("db.example", 3306, "kim", "secret")
    assert (login.context, login.connect_seconds) == (None, 2.5)
    preferred = mysql()
    assert [
        sorted(set(attempt) & {"ssl", "ssl_disabled"}) for attempt in preferred.login(preferred.tls).attempts()
    ] == [
        ["ssl"],
        ["ssl_disabled"],
    ]
    broken = mysql(database_ssl_keystore="missing.jks", database_ssl_keystore_password="x")
    with pytest.raises(ConfigError, match="missing"):
        broken.login(broken.tls)


def test_signals_of_a_topic() -> None:
    given = {
        **MINIMAL,
        "signal.enabled.channels": "source, kafka",
        "signal.kafka.bootstrap.servers": "other:9092",
        "signal.consumer.security.protocol": "SSL",
        "signal.kafka.poll.timeout.ms": "100",
    }
    consumer = {
        "bootstrap.servers": "other:9092",
        "group.id": "kafka-signal",
        "enable.auto.commit": "true",
        "auto.offset.reset": "earliest",
        "session.timeout.ms": "10000",
        "security.protocol": "SSL",
    }
    assert MySqlConfig.parse(given).signal_topic("shop") == SignalTopic("shop-signal", consumer, 100)
    named = MySqlConfig.parse({**given, "signal.kafka.topic": "signals", "signal.kafka.groupId": "g"}).signal_topic(
        "shop"
    )
    assert named is not None
    assert (named.topic, named.consumer["group.id"]) == ("signals", "g")


def test_signal_table_of_snapshots_alone() -> None:
    config = MySqlConfig.parse(
        {
            **MINIMAL,
            "signal.enabled.channels": "kafka",
            "signal.kafka.bootstrap.servers": "b:1",
            "signal.data.collection": "a.b",
        }
    )
    assert config.signal_table == TableId("a", "b")
    assert not config.reads_signal_table
    assert MySqlConfig.parse(MINIMAL).reads_signal_table


def test_notifications() -> None:
    given = {**MINIMAL, "notification.enabled.channels": "sink", "notification.sink.topic.name": "told"}
    assert MySqlConfig.parse(given).sends_notifications == "told"


def test_reconnects() -> None:
    reconnects = Reconnects(2, Backoff(0.3, 1))
    assert [reconnects.delay(attempt) for attempt in (1, 2, 3)] == [0.3, 0.6, None]
    assert Reconnects(0, Backoff(1)).delay(1) is None
    assert Reconnects(None, Backoff(0.3, 1)).delay(99) == 1


def test_history_clients() -> None:
    config = MySqlConfig.parse(
        {
            **MINIMAL,
            f"{HISTORY}.consumer.security.protocol": "SSL",
            "database.history.producer.security.protocol": "SASL_SSL",
            f"{HISTORY}.producer.bootstrap.servers": "other:9092",
        }
    )
    consumer, producer = config.history_consumer("shop-history"), config.history_producer("shop-history")
    assert (consumer["bootstrap.servers"], consumer["security.protocol"]) == ("broker:9092", "SSL")
    assert (consumer["client.id"], consumer["group.id"]) == ("shop-history", "shop-history")
    assert (producer["bootstrap.servers"], producer["security.protocol"]) == ("other:9092", "SASL_SSL")
    assert producer["max.in.flight.requests.per.connection"] == "1"


def test_ddl_filter() -> None:
    config = MySqlConfig.parse({**MINIMAL, f"internal.{HISTORY}.ddl.filter": r"SAVEPOINT .*,flush\s.*"})
    assert config.passes_over(["savepoint a", "FLUSH\nTABLES", "DROP TABLE t"]) == ["savepoint a", "FLUSH\nTABLES"]


EXCLUSIVE = ["database", "table", "column"]


@pytest.mark.parametrize("kind", EXCLUSIVE)
def test_include_and_exclude(kind: str) -> None:
    include, exclude = f"{kind}.include.list", f"{kind}.exclude.list"
    text = f'Invalid value a.b for configuration {exclude}: "{include}" is already specified: give one of both'
    assert errors(MySqlConfig, {**MINIMAL, include: "a.b", exclude: "a.b"}) == {exclude: [text]}
    assert exclude in errors(MySqlConfig, {**MINIMAL, f"{kind}.whitelist": "a.b", f"{kind}.blacklist": "a.b"})
    with pytest.raises(ConfigError, match="is already specified"):
        MySqlConfig.parse({**MINIMAL, include: "a", exclude: "b"})
    assert errors(MySqlConfig, {**MINIMAL, include: "a.b", exclude: " "}) == {}


@pytest.mark.parametrize(
    ("given", "name", "text"),
    [
        ({"gtid.source.includes": "a", "gtid.source.excludes": "b"}, "gtid.source.excludes", "already specified"),
        ({"signal.enabled.channels": "kafka"}, "signal.kafka.bootstrap.servers", "its brokers must be given"),
        ({"notification.enabled.channels": "sink"}, "notification.sink.topic.name", "its name must be given"),
        ({"column.mask.with.chars": "a"}, "column.mask.with.chars", "is not an option"),
        ({"converters": "a"}, "a.type", "Classes of the JVM cannot be loaded"),
        ({"connection.user": "kim"}, "connection.user", "it is database.user"),
        ({"database.server.name": "shop"}, "database.server.name", "Give topic.prefix alone"),
    ],
)
def test_combination(given: dict[str, str], name: str, text: str) -> None:
    found = errors(MySqlConfig, {**MINIMAL, **given})
    assert list(found) == [name]
    assert text in found[name][0]
    with pytest.raises(ConfigError, match=text.replace("(", r"\(")) as raised:
        MySqlConfig.parse({**MINIMAL, **given})
    assert raised.value.name == name


def test_configuration_of_1_x() -> None:
    """LA-01, with the file as it is printed: one option is misspelt, next to a right one."""
    seed = {
        "database.hostname": "db",
        "database.user": "kim",
        "database.password": "secret",
        "database.server.name": "appdb",
        "database.history.kafka.topic": "mysql_topic",
        "include.schema.changes": "true",
    }
    right = {**seed, "database.history.kafka.bootstrap.servers": "broker:9092"}
    assert errors(MySqlConfig, right) == {}
    assert MySqlConfig.parse(right).topic_names.schema_changes == "appdb"
    wrong = {**seed, "database.histroy.kafka.bootstrap.servers": "broker:9092"}
    name = f"{HISTORY}.kafka.bootstrap.servers"
    assert errors(MySqlConfig, wrong) == {
        name: [
            f'Missing required configuration "{name}" which has no default value. There is '
            f'"database.histroy.kafka.bootstrap.servers": was "{name}" meant?'
        ]
    }
    with pytest.raises(ConfigError, match=r"database\.histroy\.kafka\.bootstrap\.servers"):
        MySqlConfig.parse(wrong)


def test_names_of_a_tutorial() -> None:
    """LA-03: each wrong name has the right one, and those that are missing are named."""
    given = {
        **{name: value for name, value in MINIMAL.items() if not name.startswith("database.")},
        "database.server.id": "7",
        "connection.hostname": "db",
        "connection.port": "3306",
        "connection.user": "kim",
        "connection.password": "secret",
    }
    found = errors(MySqlConfig, given)
    for part in ("hostname", "port", "user", "password"):
        assert f"it is database.{part}" in found[f"connection.{part}"][0]
    assert "Missing required" in found["database.hostname"][0]
    assert not any("secret" in text for texts in found.values() for text in texts)


def test_warnings_go_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    given = {
        **MINIMAL,
        "snapshot.mode": "schema_only",
        "table.inculde.list": "a.b",
        "database.sslMode": "required",
        "database.connectionTimezone": "Asia/Seoul",
        "signal.enabled.channels": "source,jmx",
        "transforms": "unwrap",
        "driver.useSSL": "true",
        "heartbeat.action.query": "UPDATE a.b SET c = 1",
    }
    with caplog.at_level(logging.WARNING):
        MySqlConfig.parse(given)
    assert caplog.messages == [
        "snapshot.mode=schema_only is an old value: it is no_data now",
        "The option table.inculde.list does not exist: was table.include.list meant?",
        "The option database.sslMode does not exist: was database.ssl.mode meant?",
        "'jmx' in signal.enabled.channels is without effect: JMX does not exist here",
        "database.connectionTimezone is without effect here. TIMESTAMP columns are read in UTC, whatever the server's "
        "zone is.",
        "heartbeat.action.query is without effect: heartbeat.interval.ms is 0, for no heartbeats",
    ]


def test_server_id_that_is_chosen_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    given = {name: value for name, value in MINIMAL.items() if name not in ("topic.prefix", "database.server.id")}
    with caplog.at_level(logging.WARNING):
        config = MySqlConfig.parse({**given, "database.server.name": "shop"})
    assert 5400 <= config.server_id <= 6400
    assert config.originals["database.server.id"] == str(config.server_id)
    assert f"database.server.id is missing: {config.server_id} is chosen, as in Debezium 1.x; set it" in caplog.messages


@given(
    st.dictionaries(
        st.sampled_from(
            [*(key.name for key in MySqlConfig.table()), *OLD_NAMES, "column.mask.with.2.chars", "tabel.x"]
        ),
        st.sampled_from(["", " ", "0", "1", "true", "a.b", "a.b,c.d", "(", "\\", "never", "KAFKA", "sink", "별"])
        | st.text(),
        max_size=6,
    )
)
def test_parsing_and_validation_agree(given: dict[str, str]) -> None:
    props = {**MINIMAL, **given}
    found = errors(MySqlConfig, props)
    try:
        parsed = MySqlConfig.parse(props)
    except ConfigError:
        assert found
    else:
        assert found == {}
        assert parsed.filters.captured([]) == []
        assert parsed.column_rules.rules is not None


def test_both_have_the_same_options_but_for_some_without_effect() -> None:
    first, second = ([key.name for key in config.table()] for config in BOTH)
    assert len(set(first)) == len(first)
    assert set(first) - set(second) <= {key.name for key in MySqlConfig.without_effect}
    assert set(second) <= set(first)


@pytest.mark.parametrize("config", BOTH)
def test_values_are_recommended(config: type[MySqlConfig | MariaDbConfig]) -> None:
    recommended = {value.name: value.recommended_values for value in config.validate_all(MINIMAL)}
    assert recommended["snapshot.mode"][0] == "always"
    assert "custom" not in recommended["snapshot.mode"]
    assert recommended["snapshot.lock.timeout.ms"] == []


def test_every_option_is_described() -> None:
    assert all(key.documentation.endswith((".", ".*")) for key in MySqlConfig.table())
    passwords = {"database.password", "database.ssl.keystore.password", "database.ssl.truststore.password"}
    assert MySqlConfig.table().passwords == passwords


def test_options_load_no_decoder() -> None:
    """Validation runs in the worker's own process, where kernels would take a second and 58 MB."""
    module = "connect_dagster.connectors.mysql.options.config"
    program = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = json.loads(ran.stdout)
    assert module in loaded
    assert [name for name in loaded if ".mysql.decode" in name or name in ("numba", "pymysql")] == []
