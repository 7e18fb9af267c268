"""Tables compared with TABLE_MAP events."""

from dataclasses import replace

import pytest

from connect_dagster.connectors.mysql.decode.table_map import ColumnType, Metadata, StoredColumn, TableMap
from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.model import Table, Tables
from connect_dagster.connectors.mysql.schema.table_map_check import differences

T = ColumnType
FULL = Metadata(
    unsigned=(True, None, False, None, None),
    collations=(None, 8, None, 46, None),
    names=("id", "name", "price", "kind", "at"),
    labels=(None, None, None, (b"a", "별".encode()), None),
    primary_key=((0, 0),),
)
STORED = TableMap(
    1,
    "d",
    "t",
    (
        StoredColumn(T.LONG),
        StoredColumn(T.VARCHAR, length=10),
        StoredColumn(T.NEWDECIMAL, digits=5, scale=2),
        StoredColumn(T.ENUM),
        StoredColumn(T.DATETIME2, digits=3),
    ),
    (False, True, True, True, True),
    Metadata(),
)


def table(definition: str) -> Table:
    tables = Tables()
    DdlParser(tables, Flavor.MYSQL, server_charset="utf8mb4").parse(f"CREATE TABLE t ({definition})", "d")
    return next(iter(tables))


KNOWN = table(
    "id INT UNSIGNED PRIMARY KEY, name VARCHAR(10) CHARSET latin1, price DECIMAL(5,2), kind ENUM('a','별'), "
    "at DATETIME(3)"
)


@pytest.mark.parametrize("metadata", [Metadata(), FULL, replace(FULL, collations=(None, 1032, None, 9999, None))])
def test_a_table_that_fits(metadata: Metadata) -> None:
    assert differences(KNOWN, replace(STORED, metadata=metadata)) == []


@pytest.mark.parametrize(
    ("definition", "difference"),
    [
        ("id INT", "1 columns are known, the log has 5"),
        ("id BIGINT UNSIGNED PRIMARY KEY", "column id: BIGINT UNSIGNED, in the log it has the type LONG"),
        ("name TEXT CHARSET latin1", "column name: TEXT, in the log it has the type VARCHAR"),
        ("name POINT", "column name: POINT, in the log it has the type VARCHAR"),
        ("price DECIMAL(6,2)", "column price: DECIMAL has the precision 6, in the log 5"),
        ("price DECIMAL(5,1)", "column price: DECIMAL has the scale 1, in the log 2"),
        ("at DATETIME", "column at: DATETIME has the fractional digits 0, in the log 3"),
        ("price DECIMAL(5,2) NOT NULL", "column price: not nullable, in the log it is"),
        ("price2 DECIMAL(5,2)", "column price2: in the log the name is price"),
        ("price DECIMAL(5,2) UNSIGNED", "column price: DECIMAL UNSIGNED, in the log it is signed"),
        ("name VARCHAR(10)", "column name: its character set is utf8mb4, in the log latin1"),
        ("kind ENUM('a','b')", "column kind: its values are a, b, in the log a, 별"),
    ],
)
def test_differences(definition: str, difference: str) -> None:
    (other,) = table(definition).columns
    names = [column.name for column in KNOWN.columns]
    place = 2 if other.name == "price2" else names.index(other.name)
    columns = (*KNOWN.columns[:place], other, *KNOWN.columns[place + 1 :])
    changed = table(definition) if difference.startswith("1 ") else replace(KNOWN, columns=columns)
    assert differences(changed, replace(STORED, metadata=FULL)) == [difference]


def test_nullability() -> None:
    stored = replace(STORED, nullable=(False, False, True, True, True))
    assert differences(KNOWN, stored) == ["column name: nullable, in the log it is not"]
    modified = replace(KNOWN, columns=(replace(KNOWN.columns[0], optional=True), *KNOWN.columns[1:]))
    assert differences(modified, STORED) == []


def test_keys() -> None:
    metadata = replace(FULL, primary_key=((1, 5), (0, 0)))
    assert differences(KNOWN, replace(STORED, metadata=metadata)) == ["the key is id, in the log name, id"]
    assert differences(replace(KNOWN, key=()), replace(STORED, metadata=metadata)) == [
        "the key is missing, in the log name, id"
    ]
