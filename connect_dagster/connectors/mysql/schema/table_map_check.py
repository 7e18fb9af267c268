"""Compares tables that are known with what the binary log says of them, to notice a change that was missed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from connect_dagster.connectors.mysql.decode.charsets import codec
from connect_dagster.connectors.mysql.decode.table_map import ColumnType, Metadata, StoredColumn, TableMap
from connect_dagster.connectors.mysql.schema.collations import BINARY, charset_of_number, same_charset
from connect_dagster.connectors.mysql.schema.model import Column, Table

T = ColumnType
_BLOBS = frozenset({T.TINY_BLOB, T.BLOB, T.MEDIUM_BLOB, T.LONG_BLOB})
_STRINGS = frozenset({T.STRING, T.VAR_STRING})
_STORED: Mapping[str, frozenset[ColumnType]] = {
    "TINYINT": frozenset({T.TINY}),
    "BOOLEAN": frozenset({T.TINY}),
    "SMALLINT": frozenset({T.SHORT}),
    "MEDIUMINT": frozenset({T.INT24}),
    "INT": frozenset({T.LONG}),
    "BIGINT": frozenset({T.LONGLONG}),
    "FLOAT": frozenset({T.FLOAT, T.DOUBLE}),  # FLOAT(25) and more is a DOUBLE
    "DOUBLE": frozenset({T.DOUBLE}),
    "REAL": frozenset({T.DOUBLE, T.FLOAT}),  # by the mode REAL_AS_FLOAT
    "DECIMAL": frozenset({T.NEWDECIMAL}),
    "BIT": frozenset({T.BIT}),
    "YEAR": frozenset({T.YEAR}),
    "DATE": frozenset({T.DATE, T.NEWDATE}),
    "TIME": frozenset({T.TIME, T.TIME2}),
    "DATETIME": frozenset({T.DATETIME, T.DATETIME2}),
    "TIMESTAMP": frozenset({T.TIMESTAMP, T.TIMESTAMP2}),
    "CHAR": _STRINGS,
    "BINARY": _STRINGS,
    "VARCHAR": frozenset({T.VARCHAR, *_BLOBS}),  # one that is too long becomes a TEXT
    "VARBINARY": frozenset({T.VARCHAR, *_BLOBS}),
    "ENUM": frozenset({T.ENUM}),
    "SET": frozenset({T.SET}),
    "JSON": frozenset({T.JSON, *_BLOBS}),  # MariaDB's is a LONGTEXT
    "VECTOR": frozenset({T.VECTOR, T.VARCHAR}),
    "UUID": _STRINGS,
    "INET4": _STRINGS,
    "INET6": _STRINGS,
}
_TEXT_TYPES = ("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB")
_WITH_DIGITS = frozenset({T.TIME2, T.DATETIME2, T.TIMESTAMP2})
_TEXTS = frozenset({"CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "ENUM", "SET"})
_NUMBERS = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"})


def differences(table: Table, stored: TableMap) -> list[str]:
    """Return in words where a table differs from what the binary log says of it; nothing where both agree.

    Names, signs, character sets, labels and keys are compared where the log has them
    (``binlog_row_metadata=FULL``, for some of them ``MINIMAL``).
    """
    if len(table.columns) != len(stored.columns):
        return [f"{len(table.columns)} columns are known, the log has {len(stored.columns)}"]
    found: list[str] = []
    for index, column in enumerate(table.columns):
        found += [f"column {column.name}: {difference}" for difference in _of_column(table, column, stored, index)]
    return [*found, *_of_key(table, stored.metadata)]


def _of_column(table: Table, column: Column, stored: TableMap, index: int) -> Iterator[str]:
    yield from _of_type(column, stored.columns[index])
    if column.optional != stored.nullable[index] and not (column.optional and column.name in table.key):
        # Debezium's model has a column of the key as nullable after MODIFY without NOT NULL; the server never does.
        yield "nullable, in the log it is not" if column.optional else "not nullable, in the log it is"
    metadata = stored.metadata
    if metadata.names is not None and metadata.names[index].lower() != column.name.lower():
        yield f"in the log the name is {metadata.names[index]}"
    if column.base_type in _NUMBERS:
        yield from _of_sign(column, metadata, index)
    if column.base_type in _TEXTS:
        yield from _of_charset(column, metadata, index)
    if column.labels:
        yield from _of_labels(column, metadata, index)


def _of_type(column: Column, stored: StoredColumn) -> Iterator[str]:
    expected = _STORED.get(column.base_type, _BLOBS if column.base_type in _TEXT_TYPES else frozenset({T.GEOMETRY}))
    if stored.type not in expected:
        yield f"{column.type}, in the log it has the type {stored.type.name}"
        return
    for known, logged, what in _sizes(column, stored):
        if known != logged:
            yield f"{column.type} has the {what} {known}, in the log {logged}"


def _sizes(column: Column, stored: StoredColumn) -> Iterator[tuple[int, int, str]]:
    match stored.type:
        case T.NEWDECIMAL:
            yield column.length or 0, stored.digits, "precision"
            yield column.scale or 0, stored.scale, "scale"
        case T.BIT:
            yield column.length or 1, stored.length, "length"
        case kind if kind in _WITH_DIGITS:
            yield column.length or 0, stored.digits, "fractional digits"


def _of_sign(column: Column, metadata: Metadata, index: int) -> Iterator[str]:
    unsigned = None if metadata.unsigned is None else metadata.unsigned[index]
    if unsigned is not None and unsigned != column.unsigned:
        yield f"{column.type}, in the log it is {'unsigned' if unsigned else 'signed'}"


def _of_charset(column: Column, metadata: Metadata, index: int) -> Iterator[str]:
    collation = None if metadata.collations is None else metadata.collations[index]
    charset = None if collation is None else charset_of_number(collation)
    if charset is not None and column.charset is not None and not same_charset(charset, column.charset):
        yield f"its character set is {column.charset}, in the log {charset}"


def _of_labels(column: Column, metadata: Metadata, index: int) -> Iterator[str]:
    labels = None if metadata.labels is None else metadata.labels[index]
    if labels is None:
        return
    known = [label.encode(_codec(column), "replace") for label in column.labels]
    if known != list(labels):
        logged = ", ".join(label.decode(_codec(column), "replace") for label in labels)
        yield f"its values are {', '.join(column.labels)}, in the log {logged}"


def _codec(column: Column) -> str:
    return "latin-1" if column.charset == BINARY else codec(column.charset or "utf8mb4")


def _of_key(table: Table, metadata: Metadata) -> Iterator[str]:
    """Compare a primary key that the log has; where it has none, a unique index may stand in for it."""
    if metadata.primary_key is None:
        return
    logged = [table.columns[index].name for index, _ in metadata.primary_key]
    if [name.lower() for name in table.key] != [name.lower() for name in logged]:
        yield f"the key is {', '.join(table.key) or 'missing'}, in the log {', '.join(logged)}"
