"""Options of the source: what is wrong is said once, with the key to blame."""

from pathlib import Path

import pytest

from connect_dagster.connectors.jdbc.identifiers import Quoting, TableId
from connect_dagster.connectors.jdbc.source.config import JdbcSourceConfig
from connect_dagster.connectors.jdbc.source.row_reader import Range
from connect_dagster.connectors.jdbc.source.spool import in_order
from connect_dagster.connectors.jdbc.source.table_monitor import grouped, nearest, selected
from connect_dagster.connectors.jdbc.source.timestamp_incrementing import (
    TimestampIncrementingCriteria,
    TimestampIncrementingOffset,
)
from connect_dagster.errors import ConfigError

# Its first part takes hours in Java's engine, its second in that of the package regex.
RUNAWAY = f"{'(.*)' * 12}x|(a|aa)+$"
WELL = {"connection.url": "jdbc:mysql://h/d", "topic.prefix": "t-", "mode": "bulk"}


def errors(**given: str) -> dict[str, list[str]]:
    values = JdbcSourceConfig.validate_all({**WELL, **{name.replace("_", "."): text for name, text in given.items()}})
    return {value.name: value.errors for value in values if value.errors}


def test_the_least_that_is_needed() -> None:
    assert errors() == {}
    config = JdbcSourceConfig.parse(WELL)
    assert (config.poll_interval_ms, config.batch_max_rows, config.most_rows, config.zone) == (5000, 1000, None, "UTC")


@pytest.mark.parametrize(
    ("given", "key", "text"),
    [
        ({"mode": ""}, "mode", "Query mode must be specified"),
        ({"mode": "all"}, "mode", "String must be one of"),
        ({"topic_prefix": "a b"}, "topic.prefix", "ASCII letters"),
        ({"topic_prefix": "a" * 250}, "topic.prefix", "249"),
        ({"table_whitelist": "a", "table_blacklist": "b"}, "table.blacklist", "together with table.whitelist"),
        ({"table_whitelist": "a", "table_include_list": "b"}, "table.include.list", "cannot be mixed"),
        ({"table_include_list": "a("}, "table.include.list", "Invalid regex"),
        ({"table_exclude_list": "a"}, "table.exclude.list", "needs table.include.list"),
        ({"query": "SELECT 1", "table_whitelist": "a"}, "query", "may not be combined"),
        ({"query": "SELECT 1", "query_masked": "SELECT 2"}, "query.masked", "together with query"),
        ({"query": "SELECT 1", "mode": "incrementing"}, "incrementing.column.name", "set it"),
        ({"mode": "timestamp"}, "timestamp.column.name", "needs the columns"),
        ({"db_timezone": "Mars/Olympus"}, "db.timezone", "time zone is unknown"),
        ({"dialect_name": "x"}, "dialect.name", "MySqlDatabaseDialect"),
        ({"numeric_mapping": "x"}, "numeric.mapping", "BEST_FIT"),
        ({"timestamp_granularity": "x"}, "timestamp.granularity", "MICROS_LONG"),
        ({"timestamp_columns_mapping": "a:b"}, "timestamp.columns.mapping", "square brackets"),
        ({"incrementing_column_mapping": "a"}, "incrementing.column.mapping", "a colon and a column"),
        ({"query": "SELECT 1", "delete_scan_interval_ms": "5"}, "delete.scan.interval.ms", "no keys to scan"),
    ],
)
def test_one_error_for_each_problem(given: dict[str, str], key: str, text: str) -> None:
    found = errors(**given)
    assert list(found) == [key]
    assert len(found[key]) == 1
    assert text in found[key][0]


def test_a_masked_query_does_not_show() -> None:
    found = errors(query_masked="SELECT secret", table_whitelist="a")
    assert "secret" not in str(found)


def test_options_show_for_their_modes() -> None:
    values = {value.name: value for value in JdbcSourceConfig.validate_all({**WELL, "mode": "incrementing"})}
    assert values["incrementing.column.name"].visible
    assert not values["timestamp.column.name"].visible


def test_every_option_has_its_place_in_a_form() -> None:
    for group in ("Database", "Mode", "Connector"):
        orders = [key.order_in_group for key in JdbcSourceConfig.table() if key.group == group]
        assert orders == list(range(1, len(orders) + 1))
    assert all(key.documentation for key in JdbcSourceConfig.table())


def test_tables_are_shared_out_in_runs() -> None:
    tables = [TableId(name) for name in "abcdefg"]
    assert [[table.name for table in group] for group in grouped(tables, 3)] == [
        ["a", "b", "c"],
        ["d", "e"],
        ["f", "g"],
    ]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, "abc"),
        ({"table.whitelist": "a,db.b"}, "ab"),
        ({"table.whitelist": "`db`.`c`"}, "c"),
        ({"table.blacklist": "a"}, "bc"),
        ({"table.include.list": r"db\.[ab]", "table.exclude.list": r".*\.b"}, "a"),
    ],
)
def test_lists_choose_tables(given: dict[str, str], names: str) -> None:
    tables = [TableId(name, None, "db") for name in "abc"]
    chosen = selected(tables, JdbcSourceConfig.parse({**WELL, **given}), Quoting("`", "`"))
    assert "".join(table.name for table in chosen) == names


def test_a_runaway_expression_chooses_no_tables() -> None:
    """R8: at 1f0d1e0 it held the interpreter's lock for hours."""
    config = JdbcSourceConfig.parse({**WELL, "table.include.list": f"a,{RUNAWAY}"})
    with pytest.raises(ConfigError, match=r"for configuration table\.include\.list: matching 'a+!' takes"):
        selected([TableId("a" * 60 + "!")], config, Quoting("`", "`"))


def test_conditions() -> None:
    both = TimestampIncrementingCriteria("t", "n")
    assert both.text == " WHERE t < ? AND ((t = ? AND n > ?) OR t > ?) ORDER BY t,n ASC"
    assert both.newer("'a'", 3, "'b'") == "t < 'b' AND ((t = 'a' AND n > 3) OR t > 'a')"
    assert both.up_to("'c'", TimestampIncrementingOffset(1, 7)) == "(t < 'c' OR (t = 'c' AND n <= 7))"
    assert TimestampIncrementingCriteria("t").text == " WHERE t > ? AND t < ? ORDER BY t ASC"
    assert TimestampIncrementingCriteria(None, "n").text == " WHERE n > ? ORDER BY n ASC"
    assert TimestampIncrementingCriteria().text == ""


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_parts_share_out_every_row_once(count: int) -> None:
    rows = Range("", "k", 1, 10_000, 10_000)
    parts = rows.parts(count) or ["k >= 0"]
    assert len(parts) == count
    for key in (1, 2, 3333, 5000, 5001, 10_000):
        found = [part for part in parts if eval(part.replace("AND", "and"), {"k": key})]
        assert len(found) == 1


def test_files_stand_in_the_order_they_were_written_in() -> None:
    written = [Path(f"part-00000-0a1b-c{number:03d}.lz4.parquet") for number in range(1002)]
    assert in_order(reversed(written)) == written


def test_of_tables_with_one_name_the_one_in_the_urls_database_is_meant() -> None:
    own, other, alone = TableId("a", catalog="shop"), TableId("a", catalog="old"), TableId("b", catalog="old")
    assert nearest([other, own, alone], "shop", ["a", "b"]) == [own, alone]
    assert nearest([other, own], "shop", ["old.a", "shop.a"]) == [other, own]
    assert nearest([other, alone], "shop", []) == [other, alone]
