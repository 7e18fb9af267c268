"""TABLE_MAP events: types with their details, and what ``binlog_row_metadata`` adds."""

import pytest

from connect_dagster.connectors.mysql.decode.table_map import ColumnType, Metadata, StoredColumn, TableMap
from connect_dagster.protocol.wire import MalformedBytes
from tests import binlog
from tests.binlog import Column, field, length, table_map

ENUM, SET = binlog.enum(1), binlog.set_(8)
TINY, BLOB = binlog.integer(1, 1, signed=True), binlog.prefixed(252, b"\3", 3)


def labels(*lists: list[bytes]) -> bytes:
    return b"".join(length(len(one)) + b"".join(length(len(label)) + label for label in one) for one in lists)


@pytest.mark.parametrize(
    ("column", "stored"),
    [
        (TINY, StoredColumn(ColumnType.TINY, width=1)),
        (binlog.floating(5, "<d"), StoredColumn(ColumnType.DOUBLE, width=8)),
        (binlog.decimal(65, 30), StoredColumn(ColumnType.NEWDECIMAL, width=30, digits=65, scale=30)),
        (binlog.varchar(255), StoredColumn(ColumnType.VARCHAR, prefix=1, length=255)),
        (binlog.varchar(256), StoredColumn(ColumnType.VARCHAR, prefix=2, length=256)),
        (binlog.char(10), StoredColumn(ColumnType.STRING, prefix=1, length=10)),
        (binlog.char(1020), StoredColumn(ColumnType.STRING, prefix=2, length=1020)),
        (binlog.bit(12), StoredColumn(ColumnType.BIT, width=2, length=12)),
        (ENUM, StoredColumn(ColumnType.ENUM, width=1)),
        (SET, StoredColumn(ColumnType.SET, width=8)),
        (binlog.time2(5), StoredColumn(ColumnType.TIME2, width=6, digits=5)),
        (binlog.datetime2(0), StoredColumn(ColumnType.DATETIME2, width=5)),
        (BLOB, StoredColumn(ColumnType.BLOB, prefix=3)),
        (binlog.prefixed(245, b"\4", 4), StoredColumn(ColumnType.JSON, prefix=4)),
    ],
)
def test_how_columns_are_stored(column: Column, stored: StoredColumn) -> None:
    parsed = TableMap.parse(table_map(77, [TINY, column]))
    assert (parsed.table_id, parsed.schema, parsed.name) == (77, "ops", "goods")
    assert parsed.columns == (StoredColumn(ColumnType.TINY, width=1), stored)
    assert (parsed.nullable, parsed.metadata) == ((True, True), Metadata())


def test_a_type_that_is_not_known() -> None:
    with pytest.raises(MalformedBytes, match="a column of type 243, which is not known"):
        TableMap.parse(table_map(1, [binlog.prefixed(243, b"", 1)]))


def test_all_metadata() -> None:
    types = [TINY, binlog.varchar(9), ENUM, TINY, SET, BLOB, binlog.prefixed(255, b"\4", 4)]
    written = b"".join(
        (
            field(1, b"\x40"),  # the second number is unsigned
            field(2, bytes([45, 1, 63])),  # all texts have 45 but the second, which has 63
            field(4, b"".join(length(1) + name for name in (b"a", b"b", b"c", b"d", b"e", b"f", b"g"))),
            field(5, labels([b"x", b"y"])),
            field(6, labels(["별".encode(), b""])),
            field(7, b"\1"),
            field(8, b"\0\3"),
            field(11, bytes([8, 45])),
            field(12, b"\xfc"),
        )
    )
    assert TableMap.parse(table_map(1, types, metadata=written)).metadata == Metadata(
        unsigned=(False, None, None, True, None, None, None),
        collations=(None, 45, 8, None, 45, 63, None),
        names=tuple("abcdefg"),
        labels=(None, None, ("별".encode(), b""), None, (b"x", b"y"), None, None),
        geometries=(None, None, None, None, None, None, 1),
        primary_key=((0, 0), (3, 0)),
        visible=(True, True, True, True, True, True, False),
    )


def test_a_key_with_prefixes_and_a_charset_for_each_column() -> None:
    written = field(3, bytes([45]) + length(255)) + field(9, bytes([0, 10, 1, 0]))
    metadata = TableMap.parse(table_map(1, [binlog.varchar(9), BLOB], metadata=written)).metadata
    assert (metadata.collations, metadata.primary_key) == ((45, 255), ((0, 10), (1, 0)))


def test_fewer_values_than_columns() -> None:
    with pytest.raises(MalformedBytes, match="fewer values in a field of the metadata than columns"):
        TableMap.parse(table_map(1, [ENUM, ENUM], metadata=field(6, labels([b"a"]))))
