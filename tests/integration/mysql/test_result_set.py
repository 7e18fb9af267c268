"""Result sets of real servers: equal to what PyMySQL reads, and to what the binary log has."""

import datetime
import random
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

import pyarrow as pa
import pymysql
import pytest

from connect_dagster.connectors.mysql.decode import columns as stored_columns
from connect_dagster.connectors.mysql.decode.columns import Reading
from connect_dagster.connectors.mysql.decode.kernels import writable
from connect_dagster.connectors.mysql.decode.row_events import TableMaps, row_images
from connect_dagster.connectors.mysql.decode.scan import scan_events
from connect_dagster.connectors.mysql.records.type_modes import BigIntUnsignedMode, DecimalMode, TypeModes
from connect_dagster.connectors.mysql.records.types import field_type
from connect_dagster.connectors.mysql.schema.model import Column
from connect_dagster.connectors.mysql.server.parameters import Parameter
from connect_dagster.connectors.mysql.server.result_set import BatchLimits, ResultSet
from connect_dagster.connectors.mysql.server.sessions import Connection, query
from connect_dagster.errors import DataError
from tests.binlog_servers import BinlogServer, MariaDBWithLog, MySQL
from tests.databases import Database
from tests.integration.mysql.conftest import Connect

EPOCH = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)
LABELS = ("red", "별", "blue")
Make = Callable[[random.Random], Any]


@dataclass(frozen=True)
class Kind:
    """A column: as SQL, as the model has it, random values to insert, and an array's value for one of PyMySQL."""

    sql: str
    column: Column
    make: Make
    expected: Callable[[Any], Any] = lambda value: value


def text(chance: random.Random) -> str:
    return "".join(chance.choices("ab별é '\\\"\n☃", k=chance.randint(0, 9)))


def latin(chance: random.Random) -> str:
    return "".join(chance.choices("abé€ß", k=chance.randint(0, 9)))


def raw(most: int, least: int = 0) -> Make:
    return lambda chance: chance.randbytes(chance.randint(least, most))


def between(low: int, high: int) -> Make:
    return lambda chance: chance.choice([low, high, chance.randint(low, high)])


def decimal(digits: int, scale: int) -> Make:
    most = 10**digits - 1
    return lambda chance: f"{chance.choice([-most, most, chance.randint(-most, most)])}e-{scale}"


def moment(digits: int, first: int, last: int) -> Make:
    def make(chance: random.Random) -> str:
        seconds = chance.choice(
            [chance.randrange(first, last), chance.randrange(first // 86400, last // 86400) * 86400]
        )
        part = chance.choice([0, chance.randrange(10**digits)])
        whole = (EPOCH + datetime.timedelta(seconds=seconds)).isoformat(" ")
        return f"{whole}.{part:0{digits}}" if digits else whole

    return make


def clock(digits: int) -> Make:
    def make(chance: random.Random) -> str:
        hours, part = chance.choice([0, 25, 838, chance.randint(0, 837)]), chance.randrange(10**digits)
        sign = chance.choice(["", "-"])
        whole = f"{sign}{hours}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"
        return f"{whole}.{part if hours < 838 else 0:0{digits}}" if digits else whole

    return make


def or_zero(make: Make, zero: str) -> Make:
    return lambda chance: zero if chance.random() < 0.2 else make(chance)


def micros(value: Any) -> int | None:
    """PyMySQL gives a zero date as a text."""
    return None if isinstance(value, str) else (value - EPOCH) // MICROSECOND


def days(value: Any) -> int | None:
    return None if isinstance(value, str) else (value - EPOCH.date()).days


def zoned(digits: int) -> Callable[[Any], str | None]:
    def expected(value: Any) -> str | None:
        if isinstance(value, str):  # zero, which PyMySQL gives as a text
            return None
        return f"{value:%Y-%m-%dT%H:%M:%S}" + (f".{value.microsecond:06}"[: digits + 1] if digits else "") + "Z"

    return expected


def unscaled(value: Decimal) -> bytes:
    number = int("".join(map(str, value.as_tuple().digits))) * (-1 if value < 0 else 1)
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def little_endian(value: bytes) -> bytes:
    return value[::-1]


def integer(name: str, size: int) -> tuple[Kind, Kind]:
    most = 1 << 8 * size
    return (
        Kind(name, Column("", name), between(-most // 2, most // 2 - 1)),
        Kind(
            f"{name} UNSIGNED",
            Column("", f"{name} UNSIGNED"),
            between(0, most - 1),
            lambda value: value if value < 1 << 63 else value - (1 << 64),
        ),
    )


KINDS = [
    *integer("TINYINT", 1),
    *integer("SMALLINT", 2),
    *integer("MEDIUMINT", 3),
    *integer("INT", 4),
    *integer("BIGINT", 8),
    Kind("INT(8) ZEROFILL", Column("", "INT UNSIGNED ZEROFILL"), between(0, 1 << 32 - 1)),
    Kind("FLOAT", Column("", "FLOAT"), lambda chance: chance.randint(-1000, 1000) / 4),
    Kind("DOUBLE", Column("", "DOUBLE"), lambda chance: chance.choice([chance.random(), 1e300, -1.5e-300])),
    *(
        Kind(f"DECIMAL({digits},{scale})", Column("", "DECIMAL", digits, scale), decimal(digits, scale), unscaled)
        for digits, scale in ((1, 0), (10, 2), (18, 18), (30, 0), (65, 30))
    ),
    Kind(
        "DECIMAL(12,3) ZEROFILL",
        Column("", "DECIMAL UNSIGNED ZEROFILL", 12, 3),
        lambda chance: chance.randint(0, 9999) / 8,
        unscaled,
    ),
    Kind("BIT(1)", Column("", "BIT", 1), between(0, 1), lambda value: value != b"\0"),
    Kind("BIT(12)", Column("", "BIT", 12), between(0, 4095), little_endian),
    Kind("BIT(64)", Column("", "BIT", 64), between(0, (1 << 64) - 1), little_endian),
    Kind("YEAR", Column("", "YEAR"), lambda chance: chance.choice([0, 1901, 2155, 2024])),
    Kind(
        "DATE", Column("", "DATE"), or_zero(lambda chance: moment(0, -(10**9), 10**9)(chance)[:10], "0000-00-00"), days
    ),
    *(
        Kind(
            f"DATETIME({digits})",
            Column("", "DATETIME", digits),
            or_zero(moment(digits, -(10**10), 10**11), "0000-00-00"),
            micros,
        )
        for digits in (0, 1, 3, 6)
    ),
    *(
        Kind(
            f"TIMESTAMP({digits}) NULL",
            Column("", "TIMESTAMP", digits),
            or_zero(moment(digits, 86400, 2**31), "0000-00-00 00:00:00"),
            zoned(digits),
        )
        for digits in (0, 2, 6)
    ),
    *(
        Kind(f"TIME({digits})", Column("", "TIME", digits), clock(digits), lambda value: value // MICROSECOND)
        for digits in (0, 3, 6)
    ),
    Kind("VARCHAR(20)", Column("", "VARCHAR", 20, charset="utf8mb4"), text),
    Kind("CHAR(20)", Column("", "CHAR", 20, charset="utf8mb4"), text),
    Kind("VARCHAR(20) CHARACTER SET latin1", Column("", "VARCHAR", 20, charset="latin1"), latin),
    Kind("TEXT CHARACTER SET utf16", Column("", "TEXT", charset="utf16"), text),
    Kind("LONGTEXT", Column("", "LONGTEXT", charset="utf8mb4"), lambda chance: text(chance) * 9000),
    Kind("BINARY(9)", Column("", "BINARY", 9), raw(9)),
    Kind("VARBINARY(400)", Column("", "VARBINARY", 400), raw(400)),
    Kind("BLOB", Column("", "BLOB"), raw(3000)),
    Kind(f"ENUM{LABELS}", Column("", "ENUM", charset="utf8mb4", labels=LABELS), lambda chance: chance.choice(LABELS)),
    Kind(
        f"SET{LABELS}",
        Column("", "SET", charset="utf8mb4", labels=LABELS),
        lambda chance: ",".join(label for label in LABELS if chance.random() < 0.5),
    ),
    Kind("GEOMETRY", Column("", "GEOMETRY"), lambda chance: struct.pack("<IBI2d", 0, 1, 1, chance.random(), 2.5)),
]
"""Every type that both servers have, but JSON, whose text is the server's."""


def address(version: type[IPv4Address | IPv6Address], size: int) -> Make:
    """Make addresses with zeros, also at the end, which the log does not have."""
    return lambda chance: str(version(bytes(chance.choice([0, 0, 1, 255]) for _ in range(size))))


MARIADB_KINDS = [
    Kind(
        "UUID",
        Column("", "UUID"),
        lambda chance: str(
            UUID(bytes=chance.randbytes(14) + chance.choice([bytes(2), b"  "]), version=chance.choice([1, 4, 5]))
        ),
    ),
    Kind("INET4", Column("", "INET4"), address(IPv4Address, 4)),
    Kind("INET6", Column("", "INET6"), address(IPv6Address, 16)),
    Kind(
        "INET6",
        Column("", "INET6"),
        lambda chance: f"::{chance.choice(['', 'ffff:'])}{address(IPv4Address, 4)(chance)}",
    ),
]


def kinds_of(server: BinlogServer) -> list[Kind]:
    """Return the types of a server."""
    return [*KINDS, *(MARIADB_KINDS if isinstance(server, MariaDBWithLog) else [])]


def filled(database: Database, connection: Connection, kinds: list[Kind], chance: random.Random, rows: int) -> None:
    """Make a table and insert random rows."""
    columns = ", ".join(f"c{place} {kind.sql}" for place, kind in enumerate(kinds))
    database.execute(f"CREATE TABLE goods (id INT PRIMARY KEY, {columns}) CHARACTER SET utf8mb4")
    query(connection, "SET SESSION sql_mode = ''")
    marks = ", ".join(["%s"] * (len(kinds) + 1))
    values = [(row, *(None if chance.random() < 0.2 else kind.make(chance) for kind in kinds)) for row in range(rows)]
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO goods VALUES ({marks})", values)
    connection.commit()


def read(
    connection: Connection,
    statement: str,
    readings: dict[str, Reading],
    parameters: tuple[Parameter, ...] = (),
    limits: BatchLimits | None = None,
) -> dict[str, pa.Array]:
    """Return all rows of a result."""
    with ResultSet.execute(connection, statement, parameters) as result:
        batches = list(result.batches(readings, limits))
    found = {name: [batch.columns[name].values for batch in batches] for name in readings}
    return {name: pa.concat_arrays(arrays) for name, arrays in found.items() if arrays}


def plain_reading(kind: Kind) -> Reading:
    return field_type(kind.column, TypeModes()).reading


@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_pymysql(server: BinlogServer, database: Database, connect: Connect, seed: int) -> None:
    chance, connection = random.Random(seed), connect()
    kinds = kinds_of(server) if seed == 0 else chance.sample(KINDS, 12)
    filled(database, connection, kinds, chance, 60)
    readings = {f"c{place}": plain_reading(kind) for place, kind in enumerate(kinds)}
    found = read(connection, "SELECT * FROM goods ORDER BY id", readings, (), BatchLimits(rows=25))
    rows = query(connection, "SELECT * FROM goods ORDER BY id")
    for place, kind in enumerate(kinds):
        expected = [None if row[place + 1] is None else kind.expected(row[place + 1]) for row in rows]
        assert found[f"c{place}"].to_pylist() == expected, kind.sql


@pytest.mark.parametrize(
    "modes", [TypeModes(), TypeModes(DecimalMode.STRING, BigIntUnsignedMode.PRECISE), TypeModes(DecimalMode.DOUBLE)]
)
def test_a_snapshot_equals_the_stream(
    server: BinlogServer, database: Database, connect: Connect, modes: TypeModes
) -> None:
    """The values of records of both, bit for bit."""
    chance, connection, kinds = random.Random(7), connect(), kinds_of(server)
    start = server.log_position()
    with server.global_variables(binlog_checksum="NONE"):
        server.next_log_file()
        filled(database, connection, kinds, chance, 80)
        end = server.log_position()
        assert end.file != start.file
        data = writable((server.log_folder() / end.file).read_bytes()[4 : end.position])
    server.next_log_file()
    (group,) = (group for group in TableMaps().groups(data, scan_events(data)) if group.table.schema == database.name)
    images = row_images(data, scan_events(data), group)
    types = {f"c{place}": field_type(kind.column, modes) for place, kind in enumerate(kinds)}
    readings = {name: field.reading for name, field in types.items()}
    snapshot = read(connection, "SELECT * FROM goods ORDER BY id", readings)
    for place, (name, field) in enumerate(types.items()):
        stored = group.table.columns[place + 1]
        stream = stored_columns.decode(data, images.cells[place + 1], stored, field.reading).values
        assert len(stream) == 80
        assert stream.equals(snapshot[name]), kinds[place].sql
        assert field.convert(stream).equals(field.convert(snapshot[name])), kinds[place].sql


def test_json_is_the_servers_own_text(database: Database, connect: Connect) -> None:
    database.execute(
        "CREATE TABLE goods (doc JSON)", """INSERT INTO goods VALUES ('{"b":[1,2.50],"a":"별"}'), (NULL)"""
    )
    connection = connect()
    found = read(connection, "SELECT doc FROM goods", {"doc": Reading(charset="utf8mb4")})["doc"]
    assert found.to_pylist() == [value for (value,) in query(connection, "SELECT doc FROM goods")]


def test_parameters(database: Database, connect: Connect) -> None:
    database.execute(
        "CREATE TABLE goods (id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(9), raw VARBINARY(900), price DECIMAL(30,2))",
        f"INSERT INTO goods VALUES (1, 'a', 'x', 1.5), (2, '별', REPEAT('y', 700), 2), ({2**64 - 1}, 'c', NULL, 3.25)",
    )
    connection = connect()

    def ids(condition: str, *parameters: Parameter) -> list[int]:
        found = read(connection, f"SELECT id FROM goods WHERE {condition}", {"id": Reading()}, parameters)
        return found["id"].to_pylist() if found else []

    assert ids("id > ? ORDER BY id LIMIT ?", 1, 1) == [2]
    assert ids("id = ?", 2**64 - 1) == [-1]
    assert ids("name = ?", "별") == [2]
    assert ids("raw = ?", b"y" * 700) == [2]
    assert ids("price > ? AND price < ? ORDER BY id", Decimal("1.50"), 3.25) == [2]
    assert ids("name <=> ? OR name = ?", None, "c") == [-1]
    assert ids("id = ?", -1) == []


def test_statements_that_cannot_be_read(database: Database, connect: Connect) -> None:
    connection = connect()
    database.execute("CREATE TABLE goods (id INT)")
    with pytest.raises(pymysql.err.ProgrammingError, match="1146"):
        ResultSet.execute(connection, "SELECT * FROM nothing")
    with pytest.raises(DataError, match="has 1 parameters, not 0"):
        ResultSet.execute(connection, "SELECT id FROM goods WHERE id = ?")
    with pytest.raises(DataError, match="returns no rows"):
        ResultSet.execute(connection, "INSERT INTO goods VALUES (1)")
    with pytest.raises(pymysql.Error, match="Subquery returns more than 1 row"):
        read(connection, "SELECT (SELECT 1 UNION SELECT 2) AS id", {"id": Reading()})
    assert query(connection, "SELECT COUNT(*) FROM goods") == [(0,)]  # the session is still good


def test_rows_of_16_megabytes(server: BinlogServer, database: Database, connect: Connect) -> None:
    sizes = [10, 0xFFFFFF - 20, 0xFFFFFF, 40_000_000, 5]
    with server.global_variables(max_allowed_packet=1 << 27):
        connection = connect()
    query(connection, "SET SESSION sql_mode = ''")
    database.execute("CREATE TABLE goods (id INT PRIMARY KEY, blobs LONGBLOB)")
    for number, size in enumerate(sizes):
        query(connection, f"INSERT INTO goods VALUES ({number}, REPEAT('{number}', {size}))")
    connection.commit()
    statement, readings = "SELECT id, blobs FROM goods ORDER BY id", {"id": Reading(), "blobs": Reading()}
    for limit in (1 << 12, 8 << 20):
        found = read(connection, statement, readings, (), BatchLimits(bytes=limit))
        assert found["id"].to_pylist() == list(range(len(sizes)))
        for number, (value, size) in enumerate(zip(found["blobs"], sizes, strict=True)):
            assert value.as_py() == str(number).encode() * size


def many_rows(database: Database, count: int) -> None:
    """Make a table of rows with numbers."""
    digits = " CROSS JOIN ".join(f"(SELECT 0 AS v {'UNION ALL SELECT 1 ' * 9}) AS d{place}" for place in range(6))
    database.execute(
        "CREATE TABLE goods (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20))",
        f"INSERT INTO goods SELECT NULL, 'a name' FROM {digits} LIMIT {count}",
    )


MANY = "SELECT a.* FROM goods AS a CROSS JOIN goods AS b"


def rows_until(connection: Connection, action: Callable[[], object]) -> Iterator[int]:
    """Read rows without an end; act after each batch."""
    with ResultSet.execute(connection, MANY) as result:
        for batch in result.batches({"id": Reading()}):
            yield batch.rows
            action()


def test_an_early_end(database: Database, connect: Connect) -> None:
    many_rows(database, 100_000)
    connection, other = connect(), connect()
    number = connection.thread_id()  # type: ignore[no-untyped-call]
    rows = rows_until(connection, lambda: None)
    assert next(rows) > 1000
    rows.close()  # type: ignore[attr-defined]
    connection.close()
    deadline = time.monotonic() + 30
    while query(other, "SELECT 1 FROM information_schema.processlist WHERE id = %s", number):
        assert time.monotonic() < deadline, "the server still sends rows"
        time.sleep(0.1)


def test_an_error_after_rows(database: Database, connect: Connect) -> None:
    many_rows(database, 100_000)
    connection, other = connect(), connect()
    number = connection.thread_id()  # type: ignore[no-untyped-call]
    rows = rows_until(connection, lambda: query(other, f"KILL QUERY {number}"))
    assert next(rows) > 1000
    with pytest.raises(pymysql.err.OperationalError, match=r"1317.*interrupted"):
        list(rows)
    assert query(connection, "SELECT 1") == [(1,)]


def test_a_connection_that_ends(database: Database, connect: Connect) -> None:
    many_rows(database, 100_000)
    connection, other = connect(), connect()
    number = connection.thread_id()  # type: ignore[no-untyped-call]
    rows = rows_until(connection, lambda: query(other, f"KILL CONNECTION {number}"))
    assert next(rows) > 1000
    with pytest.raises(pymysql.Error, match=r"2013|1927|1317|1053|1094"):
        list(rows)


def test_rows_by_tls(mysql: MySQL, mysql_database: Database) -> None:
    many_rows(mysql_database, 200_000)
    with mysql_database.connected() as connection:
        assert query(connection, "SHOW SESSION STATUS LIKE 'Ssl_version'")[0][1].startswith("TLS")
        found = read(connection, "SELECT id FROM goods ORDER BY id", {"id": Reading()}, (), BatchLimits(bytes=1 << 20))
        assert found["id"].to_pylist() == [row[0] for row in query(connection, "SELECT id FROM goods ORDER BY id")]
        result = ResultSet.execute(connection, MANY)
        batches = result.batches({"id": Reading()})
        next(batches)
        threading.Timer(0.2, result.close).start()
        with pytest.raises(pymysql.err.OperationalError, match="2013"):
            list(batches)
