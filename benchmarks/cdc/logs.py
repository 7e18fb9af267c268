"""Parts of a binary log that each contestant reads: written once, with the number of records that they give."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from tests.binlog_servers import MySQL
from tests.databases import Database

_COLUMNS = (
    "id INT NOT NULL PRIMARY KEY, customer INT NOT NULL, name VARCHAR(60) NOT NULL, price DECIMAL(10, 2) NOT NULL, "
    "paid TINYINT(1) NOT NULL, made DATETIME(3) NOT NULL, note VARCHAR(120), changed TIMESTAMP NOT NULL"
)
_LOADED = 100_000  # rows of a transaction of the bulk
_UPDATED = 100  # rows of a statement
_TABLES, _ROWS_EACH = 20, 10


class Log(Enum):
    """A kind of changes; the value is its name in the table."""

    BULK = "bulk inserts"
    MIXED = "updates and deletes"
    SINGLE = "transactions of one row"
    MANY = "20 tables"


@dataclass(frozen=True, slots=True)
class WrittenLog:
    """A part of a binary log.

    Attributes:
        database: whose tables change.
        offset: from which on it is read.
        tables: that change.
        records: that it gives, with tombstones.
    """

    database: Database
    offset: dict[str, Any]
    tables: Sequence[str]
    records: int


def write_log(server: MySQL, kind: Log, records: int) -> WrittenLog:
    """Write a part of the log in a new database.

    Args:
        server: whose log it is.
        kind: of the changes.
        records: that it gives about.
    """
    database = server.new_database()
    tables = [f"goods{number}" for number in range(_TABLES)] if kind is Log.MANY else ["goods"]
    database.execute(*(f"CREATE TABLE {table} ({_COLUMNS})" for table in tables))
    if kind is Log.MIXED:
        load_rows(database, "goods", _LOADED)
    position = server.log_position()
    offset = {"file": position.file, "pos": position.position, "gtids": server.executed_gtids(), "ts_sec": 0}
    return WrittenLog(database, offset, tables, _WRITERS[kind](database, records))


def load_rows(database: Database, table: str, count: int, first: int = 0) -> None:
    """Load rows from a file, which the log has in one transaction."""
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as file:
        file.writelines(_line(number) for number in range(first, first + count))
        file.flush()
        Path(file.name).chmod(0o644)
        database.execute(f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE {table}")


def _line(number: int) -> str:
    second = f"2024-01-{1 + number % 28:02} {number % 24:02}:{number % 60:02}:{number * 7 % 60:02}"
    note = "\\N" if number % 3 == 0 else f"note {number * 31 % 9973} of a row"
    return (
        f"{number}\t{number % 1009}\tproduct {number * 7919 % 100_003}\t{number % 9999}.{number % 100:02}\t"
        f"{number % 2}\t{second}.{number % 1000:03}\t{note}\t{second}\n"
    )


def _value(number: int) -> str:
    return (
        f"({number},{number % 1009},'product {number}',{number % 9999}.5,{number % 2},"
        f"'2024-01-01 10:00:00.125','note',NOW())"
    )


def _bulk(database: Database, records: int) -> int:
    for first in range(0, records, _LOADED):
        load_rows(database, "goods", min(_LOADED, records - first), first)
    return records


def _mixed(database: Database, records: int) -> int:
    """Update a hundred rows in each transaction, delete ten of them and insert these again."""
    written, at = 0, 0
    with database.connected() as connection, connection.cursor() as cursor:
        while written < records:
            cursor.execute("BEGIN")
            cursor.execute(
                "UPDATE goods SET price = price + 1, note = CONCAT('note ', id) "
                f"WHERE id >= {at} AND id < {at + _UPDATED}"
            )
            cursor.execute(f"DELETE FROM goods WHERE id >= {at} AND id < {at + 10}")
            cursor.execute("INSERT INTO goods VALUES " + ",".join(_value(id) for id in range(at, at + 10)))
            connection.commit()
            written += _UPDATED + 2 * 10 + 10  # a tombstone follows each delete
            at = (at + _UPDATED) % _LOADED
    return written


def _single(database: Database, records: int) -> int:
    with database.connected() as connection, connection.cursor() as cursor:
        for number in range(records):
            cursor.execute(f"INSERT INTO goods VALUES {_value(number)}")
            connection.commit()
    return records


def _many(database: Database, records: int) -> int:
    written = 0
    with database.connected() as connection, connection.cursor() as cursor:
        while written < records:
            first = written // _TABLES
            cursor.execute("BEGIN")
            for table in range(_TABLES):
                rows = ",".join(_value(id) for id in range(first, first + _ROWS_EACH))
                cursor.execute(f"INSERT INTO goods{table} VALUES {rows}")
            connection.commit()
            written += _TABLES * _ROWS_EACH
    return written


_WRITERS: dict[Log, Callable[[Database, int], int]] = {
    Log.BULK: _bulk,
    Log.MIXED: _mixed,
    Log.SINGLE: _single,
    Log.MANY: _many,
}
