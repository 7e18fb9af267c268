"""Compare captures of one server by Debezium in Java's worker and by ours: topics, schema history, offsets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from tests.binlog_servers import BinlogServer
from tests.conformance import capture_script as script
from tests.conformance.capture_comparison import differences
from tests.conformance.capture_differences import REASONS, Reason, counts, unexplained
from tests.conformance.capture_play import HEARTBEATS, JAVA, OURS, Play, Side
from tests.conformance.java_connect import JavaStandalone
from tests.conformance.java_debezium import plugin_path
from tests.conftest import Broker
from tests.integration.worker_process import JSON_CONVERTER, WorkerProcess

pytestmark = pytest.mark.nightly

MYSQL, MARIADB = "mysql", "mariadb_with_log"
MOST_SHOWN = 40
ALL = r"shop\..*"


@dataclass(frozen=True, slots=True)
class Mode:
    """Options of both connectors.

    Attributes:
        options: beside those of the connection.
        servers: kinds of servers that are captured with them.
        large_times: whether times that are not of a day are allowed.
        queries: whether the log has the statements that change rows.
        rows: whether the snapshot has rows.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    servers: Sequence[str] = (MYSQL,)
    large_times: bool = False
    queries: bool = False
    rows: bool = True


MODES: Mapping[str, Mode] = {
    "default": Mode(servers=(MYSQL, MARIADB), large_times=True),
    "texts": Mode(
        {
            "decimal.handling.mode": "string",
            "binary.handling.mode": "base64",
            "time.precision.mode": "isostring",
            "bigint.unsigned.handling.mode": "precise",
        },
        servers=(MYSQL, MARIADB),
    ),
    "connect": Mode(
        {"decimal.handling.mode": "double", "binary.handling.mode": "hex", "time.precision.mode": "connect"}
    ),
    "nanoseconds": Mode(
        {
            "binary.handling.mode": "base64-url-safe",
            "time.precision.mode": "nanoseconds",
            "column.propagate.source.type": ".*",
        },
        large_times=True,
    ),
    "microseconds": Mode(
        {
            "time.precision.mode": "microseconds",
            "datatype.propagate.source.type": r".*\.(VARCHAR|DECIMAL|INT)",
            "tombstones.on.delete": "false",
        },
        large_times=True,
    ),
    "masks": Mode(
        {
            "column.mask.with.5.chars": r"shop\.customers\.name,shop\.(s_)?texts\.a",
            "column.truncate.to.3.chars": r"shop\.(s_)?texts\.(b|d|f)",
            "column.mask.hash.v2.SHA-256.with.salt.pepper": r"shop\.customers\.email",
            "column.mask.hash.SHA-256.with.salt.pepper": r"shop\.(s_)?texts\.i",
            "column.mask.with.0.chars": r"shop\.(s_)?texts\.c",
        }
    ),
    "keys and comments": Mode(
        {
            "message.key.columns": "shop.no_key:a;shop.composite:c,a;shop.(customers|orders):id",
            "include.schema.comments": "true",
        }
    ),
    "skipped operations": Mode(
        {"skipped.operations": "u,t", "include.query": "true", "skip.messages.without.change": "true"}, queries=True
    ),
    "truncates and queries": Mode(
        {"skipped.operations": "none", "include.query": "true"}, servers=(MYSQL, MARIADB), queries=True
    ),
    "transactions": Mode(
        {"provide.transaction.metadata": "true", "skipped.operations": "none"}, servers=(MYSQL, MARIADB)
    ),
    "converters": Mode(
        {
            "converters": "tiny",
            "tiny.type": "io.debezium.connector.binlog.converters.TinyIntOneToBooleanConverter",
            "tiny.length.checker": "false",
            "tiny.selector": r"shop\.(s_)?integers\.a",
        }
    ),
    "names for Avro": Mode({"schema.name.adjustment.mode": "avro", "field.name.adjustment.mode": "avro_unicode"}),
    "captured tables": Mode(
        {"schema.history.internal.store.only.captured.tables.ddl": "true", "include.schema.changes": "false"}
    ),
    "captured databases": Mode({"schema.history.internal.store.only.captured.databases.ddl": "true"}),
    "no rows": Mode(
        {"snapshot.mode": "no_data", "heartbeat.interval.ms": "500", "topic.heartbeat.prefix": HEARTBEATS},
        servers=(MYSQL, MARIADB),
        rows=False,
    ),
    "columns": Mode(
        {
            "column.exclude.list": r"shop\.customers\.email,shop\.(s_)?texts\.[a-e],shop\.orders\.customer",
            "skip.messages.without.change": "true",
        }
    ),
}


@pytest.fixture(scope="module")
def sides(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    """Both workers."""
    workdir = tmp_path_factory.mktemp("capture")
    props = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "offset.flush.interval.ms": "500",
    }
    plugins = {"plugin.path": str(plugin_path(workdir / "plugins"))}
    with (
        WorkerProcess(props, [], workdir / OURS) as ours,
        JavaStandalone(props | plugins, [], workdir / JAVA, heap="768m") as java,
    ):
        yield Side(JAVA, java.rest_url.rstrip("/")), Side(OURS, ours.rest_url)


@pytest.fixture(scope="module")
def needed() -> set[Reason]:
    """The reasons that were needed so far."""
    return set()


def statements(kind: str, mode: Mode) -> tuple[list[str], list[str]]:
    """Return the statements before the start and those after the snapshot."""
    tables = [*script.COMMON_TYPES, *(script.MYSQL_TYPES if kind == MYSQL else script.MARIADB_TYPES)]
    tables += [script.LARGE_TIMES] if mode.large_times else []
    before = [statement for table in tables for statement in table.statements()]
    after = [statement for table in tables for statement in table.statements("s_")]
    after += [statement for table in tables for statement in (*table.changes(), *table.changes("s_"))]
    definitions = script.DEFINITIONS + (script.MYSQL_DEFINITIONS if kind == MYSQL else script.MARIADB_DEFINITIONS)
    return [*before, *script.PREPARATION], [*after, *script.CHANGES, *definitions]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in (MYSQL, MARIADB) for name, mode in MODES.items() if kind in mode.servers],
)
def test_both_capture_the_same(
    request: pytest.FixtureRequest,
    sides: tuple[Side, Side],
    broker: Broker,
    needed: set[Reason],
    kind: str,
    name: str,
) -> None:
    server: BinlogServer = request.getfixturevalue(kind)
    mode = MODES[name]
    before, after = statements(kind, mode)
    captured = Play(broker.bootstrap_servers, server, sides).run(
        before, after, mode.options, queries=mode.queries, rows=mode.rows
    )
    found = differences(captured)
    shown = "\n".join(map(str, unexplained(found)[:MOST_SHOWN]))
    assert not shown, f"{shown}\n{captured[OURS].failure or ''}"
    used = counts(found)
    assert not [(reason.why, count) for reason, count in used.items() if count > reason.most]
    needed |= set(used)


def test_each_reason_is_needed(needed: set[Reason]) -> None:
    if not needed:
        pytest.skip("the comparisons have not run")
    assert [reason.why for reason in REASONS if reason not in needed] == []
