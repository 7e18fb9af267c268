"""Tables by chance, printed as statements and read again, and as entries of a schema history."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.model import Column, Table, Tables
from connect_dagster.connectors.mysql.schema.table_changes import ChangeType, TableChange

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
names = texts.filter(lambda text: not text.isspace())
NUMBERS = st.sampled_from(["INT", "BIGINT UNSIGNED", "DOUBLE", "TINYINT UNSIGNED ZEROFILL", "DATE", "JSON", "LONGBLOB"])


def string(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    optional = draw(st.booleans())
    kind = draw(st.sampled_from(["plain", "decimal", "text", "enum"]))
    default = draw(st.none() | st.from_regex(r"[a-z0-9]{1,5}", fullmatch=True))
    column = {
        "plain": lambda: Column(name, draw(NUMBERS)),
        "decimal": lambda: Column(name, "DECIMAL", draw(st.integers(1, 65)), draw(st.integers(0, 30))),
        "text": lambda: Column(
            name, "VARCHAR", draw(st.integers(1, 9999)), charset=draw(st.sampled_from(["latin1", "utf8mb4"]))
        ),
        "enum": lambda: Column(name, "ENUM", 1, charset="utf8mb4", labels=tuple(draw(st.lists(texts, min_size=1)))),
    }[kind]()
    has_default = optional or default is not None
    return Column(
        name,
        column.type,
        column.length,
        column.scale,
        optional,
        column.charset,
        column.labels,
        has_default=has_default,
        default=default,
        comment=draw(st.none() | st.sampled_from(["a comment", "별"])),
    )


@st.composite
def tables(draw: st.DrawFn) -> Table:
    found = draw(st.lists(names, min_size=1, max_size=5, unique_by=lambda name: name.lower()))
    parts = tuple(draw(columns(name)) for name in found)
    key = tuple(column.name for column in parts if not column.optional)
    return Table("d", draw(names), parts, key, "utf8mb4", draw(st.none() | st.just("of the table")))


def definition(column: Column) -> str:
    words = column.type.split()
    size = ""
    if column.labels:
        size = f"({', '.join(string(label) for label in column.labels)})"
    elif column.length is not None:
        size = f"({column.length})" if column.scale is None else f"({column.length},{column.scale})"
    charset = f" CHARACTER SET {column.charset}" if column.charset else ""
    null = "" if column.optional else " NOT NULL"
    default = "" if column.default is None else f" DEFAULT {string(column.default)}"
    comment = "" if column.comment is None else f" COMMENT {string(column.comment)}"
    return f"{quoted(column.name)} {words[0]}{size} {' '.join(words[1:])}{charset}{null}{default}{comment}"


def statement(table: Table) -> str:
    parts = [definition(column) for column in table.columns]
    if table.key:
        parts.append(f"PRIMARY KEY ({', '.join(quoted(name) for name in table.key)})")
    comment = "" if table.comment is None else f" COMMENT={string(table.comment)}"
    elements = ",\n  ".join(parts)
    return f"CREATE TABLE {quoted(table.name)} (\n  {elements}\n) ENGINE=InnoDB{comment}"


@settings(deadline=None)
@given(tables(), st.sampled_from(Flavor))
def test_a_table_is_read_as_it_is_printed(table: Table, flavor: Flavor) -> None:
    known = Tables()
    DdlParser(known, flavor, keeps_comments=True, server_charset="utf8mb4").parse(statement(table), "d")
    assert list(known) == [table]


@settings(deadline=None)
@given(tables(), st.sampled_from([ChangeType.CREATE, ChangeType.ALTER]))
def test_an_entry_of_a_history_is_read_as_it_is_written(table: Table, kind: ChangeType) -> None:
    change = TableChange(kind, table.id, table)
    assert TableChange.parse(json.loads(json.dumps(change.history_entry()))) == change
