"""Locks, positions and readers of a snapshot on real servers."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pymysql
import pytest

from connect_dagster.connectors.mysql.decode.columns import Reading
from connect_dagster.connectors.mysql.locking_modes import LOCKS, LockingMode
from connect_dagster.connectors.mysql.options.snapshots import TableOrder
from connect_dagster.connectors.mysql.schema.model import Column, Table
from connect_dagster.connectors.mysql.server.result_set import BatchLimits
from connect_dagster.connectors.mysql.server.sessions import Connection, query
from connect_dagster.connectors.mysql.snapshot.chunks import Range, TableScan, in_order, plan, row_estimates
from connect_dagster.connectors.mysql.snapshot.locks import SnapshotLock, snapshot_view
from connect_dagster.connectors.mysql.snapshot.readers import SnapshotReaders, TableBatch
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError
from tests.binlog_servers import BinlogServer, mariadb_server
from tests.databases import Database
from tests.integration.mysql.conftest import Connect

READERS_RIGHTS = ("SELECT", "REPLICATION CLIENT")


def table(database: Database, name: str = "goods") -> TableId:
    return TableId(database.name, name)


def lock_for(connection: Connection, mode: LockingMode, *tables: TableId, wait_ms: int = 10_000) -> SnapshotLock:
    return SnapshotLock(connection, LOCKS[mode], tables, wait_ms)


def is_writable(connection: Connection, statement: str = "INSERT INTO goods VALUES (DEFAULT, 7)") -> bool:
    """Return whether a statement gets through within a second."""
    query(connection, "SET SESSION lock_wait_timeout = 1")
    try:
        query(connection, statement)
    except pymysql.err.OperationalError as error:
        assert error.args[0] == 1205  # noqa: PT017 (which one it is)
        return False
    return True


@pytest.fixture
def goods(database: Database) -> Database:
    """A database with a table of three rows, and one of another engine."""
    database.execute(
        "CREATE TABLE goods (id INT PRIMARY KEY AUTO_INCREMENT, number INT)",
        "INSERT INTO goods VALUES (1, 1), (2, 2), (3, 3)",
        "CREATE TABLE old (id INT PRIMARY KEY AUTO_INCREMENT, number INT) ENGINE = MyISAM",
    )
    return database


@pytest.mark.parametrize(
    ("mode", "before_release", "after_release"),
    [
        (LockingMode.MINIMAL, False, True),
        (LockingMode.MINIMAL_AT_LEAST_ONCE, False, True),
        (LockingMode.EXTENDED, False, False),
        (LockingMode.NONE, True, True),
    ],
)
def test_writes_wait_while_all_tables_are_locked(
    goods: Database, connect: Connect, mode: LockingMode, before_release: bool, after_release: bool
) -> None:
    writer, locker = connect(), connect()
    with snapshot_view(lock_for(locker, mode, table(goods)), [connect()]) as view:
        assert not view.lock.of_tables
        assert is_writable(writer) is before_release
        view.lock.release_after_structure()
        assert is_writable(writer) is after_release
    assert is_writable(writer)
    assert not view.lock.is_held


def test_readers_see_the_rows_of_the_position(server: BinlogServer, goods: Database, connect: Connect) -> None:
    readers, writer = [connect(), connect()], connect()
    with snapshot_view(lock_for(connect(), LockingMode.MINIMAL, table(goods)), readers) as view:
        log, gtids = server.log_position(), server.executed_gtids()
        view.lock.release_after_structure()
        query(writer, "INSERT INTO goods VALUES (4, 4)")
        for reader in readers:
            assert query(reader, "SELECT COUNT(*) FROM goods") == [(3,)]
    assert view.position is not None
    assert (view.position.file, view.position.position, view.position.gtids) == (log.file, log.position, gtids)
    assert server.log_position().position > log.position


def test_single_tables_where_the_right_for_all_is_missing(
    server: BinlogServer, goods: Database, connect: Connect
) -> None:
    user = server.new_user((*READERS_RIGHTS, "LOCK TABLES"))
    writer, locker, reader = connect(), connect(user), connect(user)
    goods.execute("CREATE TABLE other (id INT PRIMARY KEY AUTO_INCREMENT, number INT)")
    with snapshot_view(lock_for(locker, LockingMode.MINIMAL, table(goods)), [reader]) as view:
        assert view.lock.of_tables
        assert not is_writable(writer)
        assert is_writable(writer, "INSERT INTO other VALUES (DEFAULT, 7)")
        view.lock.release_after_structure()
        assert is_writable(writer)
        assert query(reader, f"SELECT COUNT(*) FROM {goods.name}.goods") == [(3,)]


def test_single_tables_of_other_engines_stay_locked(server: BinlogServer, goods: Database, connect: Connect) -> None:
    user = server.new_user((*READERS_RIGHTS, "LOCK TABLES"))
    writer = connect()
    lock = lock_for(connect(user), LockingMode.MINIMAL, table(goods), table(goods, "old"))
    with snapshot_view(lock, [connect(user)]) as view:
        view.lock.release_after_structure()
        assert not is_writable(writer, "INSERT INTO old VALUES (DEFAULT, 7)")
    assert is_writable(writer, "INSERT INTO old VALUES (DEFAULT, 7)")


def test_rights_that_are_missing(server: BinlogServer, goods: Database, connect: Connect) -> None:
    reader = server.new_user(READERS_RIGHTS)
    lock = lock_for(connect(reader), LockingMode.MINIMAL, table(goods))
    with pytest.raises(ConnectError, match=rf"LOCK TABLES and SELECT on {goods.name}. User '{reader.name}'@'%' needs"):
        lock.take()
    lock = lock_for(connect(reader), LockingMode.MINIMAL_PERCONA_NO_TABLE_LOCKS, table(goods))
    with pytest.raises(ConnectError, match=r"LOCK TABLES FOR BACKUP failed, .* does not allow for locks of single"):
        lock.take()
    nobody = server.new_user(("SELECT", "RELOAD", "LOCK TABLES"))
    lock = lock_for(connect(nobody), LockingMode.MINIMAL, table(goods))
    with (
        pytest.raises(ConnectError, match=rf"GRANT REPLICATION CLIENT ON \*\.\* TO '{nobody.name}'@'%'"),
        snapshot_view(lock, []),
    ):
        pass
    assert is_writable(connect())


def test_a_wait_for_locks_ends(goods: Database, connect: Connect) -> None:
    holder = connect()
    query(holder, "LOCK TABLES goods WRITE")
    started = time.monotonic()
    with pytest.raises(ConnectError, match=r"not granted within 1500 ms \(snapshot.lock.timeout.ms\)"):
        lock_for(connect(), LockingMode.MINIMAL, table(goods), wait_ms=1500).take()
    assert time.monotonic() - started < 20
    query(holder, "UNLOCK TABLES")


def test_an_error_releases_the_lock(goods: Database, connect: Connect) -> None:
    with (
        pytest.raises(ValueError, match="mine"),
        snapshot_view(lock_for(connect(), LockingMode.EXTENDED, table(goods)), []) as view,
    ):
        raise ValueError("mine")
    assert not view.lock.is_held
    assert is_writable(connect())


def test_a_server_without_a_log() -> None:
    with mariadb_server(options={"skip-log-bin": "1"}) as server, server.connection() as connection:
        view = snapshot_view(lock_for(connection, LockingMode.MINIMAL), [])
        with view as found:
            assert found.position is None


ROWS = 200_000


def filled(database: Database, name: str, rows: int, step: int = 1) -> TableScan:
    """Make a table and return its scan."""
    digits = " CROSS JOIN ".join(f"(SELECT 0 AS v {'UNION ALL SELECT 1 ' * 9}) AS d{place}" for place in range(6))
    database.execute(
        f"CREATE TABLE {name} (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20), price DECIMAL(10,2))",
        f"SET SESSION auto_increment_increment = {step}",
        f"INSERT INTO {name} SELECT NULL, 'a name', 12.5 FROM {digits} LIMIT {rows}",
        f"ANALYZE TABLE {name}",
    )
    columns = (Column("id", "INT", optional=False), Column("name", "VARCHAR", 20), Column("price", "DECIMAL", 10, 2))
    model = Table(database.name, name, columns, ("id",))
    readings = {"id": Reading(), "name": Reading(charset="utf8mb4"), "price": Reading(scale=2)}
    return TableScan.of(model, readings)


def taken(readers: SnapshotReaders) -> Iterator[TableBatch]:
    while not readers.is_done:
        batch = readers.take(10)
        if batch is not None:
            yield batch


def test_two_readers_read_each_row_once(database: Database, connect: Connect) -> None:
    scans = [filled(database, "goods", ROWS, 3), filled(database, "few", 10), filled(database, "none", 0)]
    connections, control = [connect(), connect()], connect()
    parts = plan(control, scans, row_estimates(control, [one.table for one in scans]), 2)
    assert [part.scan.table.name for part in parts] == ["goods"] * (len(parts) - 2) + ["few", "none"]
    assert len(parts) > 4
    tables = [scan.table for scan in scans]
    lock = lock_for(connect(), LockingMode.MINIMAL, *tables)
    with snapshot_view(lock, connections) as view, SnapshotReaders(connections, parts, BatchLimits(1 << 18)) as readers:
        view.lock.release_after_structure()
        query(control, "DELETE FROM goods WHERE id < 1000")  # not seen by the readers
        control.commit()
        batches = list(taken(readers))
    ids = np.concatenate([batch.columns["id"].values for batch in batches if batch.table == tables[0]])
    assert np.array_equal(np.sort(ids), np.arange(1, 3 * ROWS + 1, 3))
    assert {str(batch.columns["name"].values[0]) for batch in batches if batch.rows} == {"a name"}
    for place in ("is_first", "is_last"):
        assert Counter(batch.table for batch in batches if getattr(batch, place)) == Counter(tables)
    for one in tables:
        mine = [batch for batch in batches if batch.table == one]
        assert mine[0].is_first
        assert mine[-1].is_last
    assert [batch.rows for batch in batches if batch.table == tables[2]] == [0]
    assert not any(connection.open for connection in connections)


def test_an_error_of_a_reader_stops_all(database: Database, connect: Connect) -> None:
    scan = filled(database, "goods", 20_000)
    connections = [connect(), connect()]
    parts = [Range(scan, scan.statement), Range(scan, "SELECT id FROM nothing"), Range(scan, scan.statement)]
    with (
        SnapshotReaders(connections, parts, BatchLimits(1 << 16)) as readers,
        pytest.raises(pymysql.err.ProgrammingError, match="1146"),
    ):
        for _ in taken(readers):
            pass
    assert not any(connection.open for connection in connections)


@pytest.mark.parametrize("is_waiting", [True, False])
def test_readers_stop_at_once(database: Database, connect: Connect, is_waiting: bool) -> None:
    """Readers that wait for room in the queue, or for a server that computes."""
    scan = filled(database, "goods", 20_000)
    connections = [connect(), connect()]
    statement = scan.statement if is_waiting else "SELECT SLEEP(100) AS id"
    with SnapshotReaders(connections, [Range(scan, statement)] * 2, BatchLimits(1 << 16)) as readers:
        if is_waiting:
            assert readers.take(30) is not None
        time.sleep(0.5)
        started = time.monotonic()
    assert time.monotonic() - started < 4
    assert not any(connection.open for connection in connections)
    assert not readers.is_done


def test_a_stop_from_another_thread(database: Database, connect: Connect) -> None:
    connection = connect()
    scan = filled(database, "goods", 1)
    with SnapshotReaders([connection], [Range(scan, "SELECT SLEEP(100) AS id")]) as readers:
        threading.Timer(0.5, readers.stop).start()
        started = time.monotonic()
        assert readers.take(60) is None
        assert time.monotonic() - started < 30


def test_statements_in_place_of_the_table(database: Database, connect: Connect) -> None:
    filled(database, "goods", 10)
    readings = {"id": Reading(), "price": Reading(scale=4)}
    override = f"SELECT id, price * 2 AS price, 'x' AS other FROM {database.name}.goods WHERE id > 7"
    scan = TableScan.of(
        Table(database.name, "goods", (Column("id", "INT", optional=False),), ("id",)), readings, override
    )
    with SnapshotReaders([connect()], plan(connect(), [scan], {scan.table: 0}, 1)) as readers:
        (batch,) = taken(readers)
    assert batch.columns["id"].values.to_pylist() == [8, 9, 10]
    assert batch.columns["price"].values.to_pylist() == [(250_000).to_bytes(3, "big")] * 3
    assert set(batch.columns) == {"id", "price"}


def test_tables_by_their_rows(database: Database, connect: Connect) -> None:
    scans = [filled(database, name, rows) for name, rows in (("some", 5000), ("many", 50_000), ("none", 0))]
    tables = [scan.table for scan in scans]
    estimates = row_estimates(connect(), [*tables, table(database, "absent")])
    assert estimates[table(database, "absent")] == 0
    assert [one.name for one in in_order(tables, estimates, TableOrder.ASCENDING)] == ["none", "some", "many"]
    assert [one.name for one in in_order(tables, estimates, TableOrder.DESCENDING)] == ["many", "some", "none"]
    assert in_order(tables, estimates, TableOrder.DISABLED) == tables
    parts = plan(connect(), scans, estimates, 2, TableOrder.DESCENDING)
    assert [part.scan.table.name for part in parts] == ["many", "some", "none"]


def test_a_lock_is_kept_alive(goods: Database, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = connect()
    lock = lock_for(connection, LockingMode.EXTENDED, table(goods))
    lock.take()
    lock.keep_alive()  # used just now: nothing is sent
    monkeypatch.setattr("connect_dagster.connectors.mysql.snapshot.locks._KEEP_ALIVE_SECONDS", 0.0)
    lock.keep_alive()
    query(connect(), f"KILL CONNECTION {connection.thread_id()}")  # type: ignore[no-untyped-call]
    with pytest.raises(pymysql.Error):
        lock.keep_alive()
    with contextlib.suppress(pymysql.Error):
        lock.release()
    assert is_writable(connect())
