"""Real servers that write a binary log: MySQL 8.0.31 and MariaDB 11.4.5, both out of jars.

The fixtures `mysql` and `mariadb_with_log` are the process's own, started by the first test that asks for them, and log
whole rows with GTIDs and names of columns; `mysql_database` and `mariadb_with_log_database` are empty databases in
them. What such a server logs may be changed for a while by `server.global_variables(binlog_row_metadata="MINIMAL")`.
A test that stops or kills its server, or replicates it, starts another: `with mysql_server(gtids=False) as server:`.
"""

import os
import shutil
import subprocess
import tempfile
import time
import uuid
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.embedded.ports import HOST
from tests.databases import Database, MariaDB, MySqlServer, as_root, on_off, server_directory
from tests.programs import made_once, unpacked
from tests.system_libraries import MYSQL, library_folder

REPLICATION_RIGHTS = ("SELECT", "RELOAD", "SHOW DATABASES", "LOCK TABLES", "REPLICATION SLAVE", "REPLICATION CLIENT")
"""What a connector's user must have, and no more."""

STOP_SECONDS = 60
REPLICA_SECONDS = 60
PURGE_SECONDS = 60

_USER_PASSWORD = "secret-of-a-user"


@dataclass(frozen=True, slots=True)
class User:
    """A user of a server."""

    name: str
    password: str


@dataclass(frozen=True, slots=True)
class LogPosition:
    """The end of an event in the binary log."""

    file: str
    position: int


@dataclass(frozen=True, slots=True)
class LogEvent:
    """An event as `SHOW BINLOG EVENTS` has it."""

    file: str
    start: int
    kind: str
    server_id: int
    end: int
    info: str


class BinlogServer(MySqlServer):
    """A server with a binary log."""

    @abstractmethod
    def executed_gtids(self) -> str:
        """The GTIDs of all transactions so far, as a connector's offset has them; empty without."""

    @abstractmethod
    def _follow(self, source: "BinlogServer") -> Sequence[str]:
        """The statements that make this server a replica."""

    @abstractmethod
    def _leave(self) -> Sequence[str]:
        """The statements that make a replica a server of its own."""

    @abstractmethod
    def _wait_for(self, gtids: str) -> str:
        """The query that waits until transactions are applied here; its result is 0 when they are."""

    def log_position(self) -> LogPosition:
        """The end of the log."""
        file, position, *_ = self.root_query("SHOW MASTER STATUS")[0]
        return LogPosition(file, position)

    def log_files(self) -> list[str]:
        """The names of the files that the server still has, oldest first."""
        return [row[0] for row in self.root_query("SHOW BINARY LOGS")]

    def log_folder(self) -> Path:
        """The folder with these files, to read their bytes."""
        return self._data

    def log_events(self, start: LogPosition | None = None) -> list[LogEvent]:
        """The events of a file, from a position to its end; of the current file by default."""
        start = start or LogPosition(self.log_position().file, 4)
        rows = self.root_query(f"SHOW BINLOG EVENTS IN '{start.file}' FROM {start.position}")
        return [LogEvent(*row) for row in rows]

    def next_log_file(self) -> None:
        """Begin a new file."""
        self.root_execute("FLUSH BINARY LOGS")

    def purge_logs(self) -> None:
        """Begin a new file and delete the others, once no checkpoint and no connection of a replica needs them."""
        self.next_log_file()
        first, deadline = self.log_position().file, time.monotonic() + PURGE_SECONDS
        while self.log_files()[0] != first:
            assert time.monotonic() < deadline, f"{self.log_files()} are not deleted"
            self.root_execute(f"PURGE BINARY LOGS TO '{first}'")
            time.sleep(0.1)

    def new_user(self, rights: Sequence[str] = REPLICATION_RIGHTS) -> User:
        """A user with these global rights; none are possible."""
        user = User(f"user_{uuid.uuid4().hex[:8]}", _USER_PASSWORD)
        grant = [f"GRANT {', '.join(rights)} ON *.* TO '{user.name}'@'%'"] if rights else []
        create = f"CREATE USER '{user.name}'@'%' IDENTIFIED BY '{user.password}'"
        self.root_execute("SET sql_log_bin = 0", create, *grant)
        return user

    @contextmanager
    def global_variables(self, **values: str | int) -> Iterator[None]:
        """Change variables for sessions that begin now, and change them back at the end."""
        before = {name: self.root_query(f"SELECT @@GLOBAL.{name}")[0][0] for name in values}
        self._set(values)
        try:
            yield
        finally:
            self._set(before)

    def stop(self) -> None:
        """End the server in good order."""
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            finally:
                self.kill()

    def follow(self, source: "BinlogServer") -> None:
        """Replicate another server of the same kind by GTIDs, from its first transaction; its `server_id` differs."""
        self.root_execute(*self._follow(source))

    def stop_following(self) -> None:
        """Be a server of its own again."""
        self.root_execute(*self._leave())

    def catch_up(self, source: "BinlogServer") -> None:
        """Wait until all that the other server has logged so far is here.

        Raises:
            TimeoutError: has what the server says about its replication.
        """
        if self.root_query(self._wait_for(source.executed_gtids())) != [(0,)]:
            raise TimeoutError(f"not replicated: {self.root_query('SHOW SLAVE STATUS')}")

    def root_execute(self, *statements: str) -> None:
        """Run statements as the server's administrator, in one session."""
        with self._root() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def root_query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of the administrator's query."""
        with self._root() as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _set(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            shown = value if isinstance(value, int) else f"'{value}'"
            self.root_execute(f"SET GLOBAL {name} = {shown}")


class MySQL(BinlogServer):
    """A MySQL server, which offers TLS.

    Args:
        directory: see `MySqlServer`.
        server_id: its id, which replicas and connectors must not have.
        gtids: whether transactions have GTIDs.
        full_metadata: whether the log has names of columns, keys and the labels of enums.
        compressed: whether transactions are compressed in the log.
        query_events: whether the log has the statements that changed rows.
        options: see `MySqlServer`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        server_id: int = 1,
        gtids: bool = True,
        full_metadata: bool = True,
        compressed: bool = False,
        query_events: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> None:
        own = {
            **_log_options(server_id, full_metadata),
            "gtid-mode": on_off(gtids),
            "enforce-gtid-consistency": on_off(gtids),
            "binlog-transaction-compression": on_off(compressed),
            "binlog-rows-query-log-events": on_off(query_events),
            "mysqlx": "OFF",
            "performance-schema": "OFF",
        }
        super().__init__(directory, own | dict(options or {}))
        self._home = unpacked("mysql-server", inner="mysql-Linux-amd64.tar.gz")
        self._libraries = library_folder(MYSQL)

    @property
    def ca_file(self) -> Path:
        """The certificate of the authority that signed the server's."""
        return self._data / "ca.pem"

    @property
    def server_uuid(self) -> str:
        """The first part of its GTIDs."""
        return str(self.root_query("SELECT @@server_uuid")[0][0])

    def executed_gtids(self) -> str:
        return str(self.root_query("SELECT @@GLOBAL.gtid_executed")[0][0]).replace("\n", "")

    def purged_gtids(self) -> str:
        """The GTIDs of transactions that are in no log file any more."""
        return str(self.root_query("SELECT @@GLOBAL.gtid_purged")[0][0]).replace("\n", "")

    def _follow(self, source: BinlogServer) -> Sequence[str]:
        user = source.new_user(("REPLICATION SLAVE",))
        return (
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '{HOST}', SOURCE_PORT = {source.port}, "
            f"SOURCE_USER = '{user.name}', SOURCE_PASSWORD = '{user.password}', SOURCE_SSL = 1, "
            "SOURCE_AUTO_POSITION = 1",
            "START REPLICA",
        )

    def _leave(self) -> Sequence[str]:
        return "STOP REPLICA", "RESET REPLICA ALL"

    def _wait_for(self, gtids: str) -> str:
        return f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', {REPLICA_SECONDS})"

    def _install(self) -> None:
        """Copy the data of an empty server, which takes seconds to make, and so is made once for each machine."""
        template = self._home.with_name(f"{self._home.name}-data")
        with made_once(template) as draft:
            if draft:
                self._initialize(draft)
        shutil.copytree(template, self._data)

    def _initialize(self, data: Path) -> None:
        with tempfile.TemporaryFile() as log:
            command = [*self._program(data), "--initialize-insecure"]
            done = subprocess.run(command, stdout=log, stderr=log, env=self._environment(), check=False)
            log.seek(0)
            if done.returncode:
                raise RuntimeError(f"no data for a server:\n{log.read().decode(errors='replace')[-4000:]}")
        (data / "auto.cnf").unlink()  # has the UUID, which no two servers may share

    def _server(self) -> list[str | Path]:
        return self._program(self._data)

    def _program(self, data: Path) -> list[str | Path]:
        return [
            self._home / "bin" / "mysqld",
            "--no-defaults",
            f"--basedir={self._home}",
            f"--datadir={data}",
            f"--lc-messages-dir={self._home / 'share'}",
            "--innodb-redo-log-capacity=8M",
            "--innodb-use-native-aio=OFF",  # the kernel has a limit, which many servers at once may reach
            *as_root(),
        ]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **({"LD_LIBRARY_PATH": str(self._libraries)} if self._libraries else {})}


class MariaDBWithLog(BinlogServer, MariaDB):
    """A MariaDB server with a binary log, whose transactions always have GTIDs.

    Args:
        directory: see `MySqlServer`.
        server_id: its id, which replicas and connectors must not have.
        full_metadata: whether the log has names of columns, keys and the labels of enums.
        compressed: whether events are compressed in the log.
        query_events: whether the log has the statements that changed rows.
        options: see `MySqlServer`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        server_id: int = 1,
        full_metadata: bool = True,
        compressed: bool = False,
        query_events: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> None:
        own = {
            **_log_options(server_id, full_metadata),
            "log-slave-updates": "ON",
            "slave-connections-needed-for-purge": "0",  # it keeps its log for a replica that is away
            "log-bin-compress": on_off(compressed),
            "log-bin-compress-min-len": "10",
            "binlog-annotate-row-events": on_off(query_events),
        }
        MariaDB.__init__(self, directory, explicit_defaults_for_timestamp=True, options=own | dict(options or {}))

    def executed_gtids(self) -> str:
        return str(self.root_query("SELECT @@GLOBAL.gtid_binlog_pos")[0][0])

    def _follow(self, source: BinlogServer) -> Sequence[str]:
        user = source.new_user(("REPLICATION SLAVE",))
        return (
            f"CHANGE MASTER TO MASTER_HOST = '{HOST}', MASTER_PORT = {source.port}, MASTER_USER = '{user.name}', "
            f"MASTER_PASSWORD = '{user.password}', MASTER_SSL_VERIFY_SERVER_CERT = 0, MASTER_USE_GTID = slave_pos",
            "START SLAVE",
        )

    def _leave(self) -> Sequence[str]:
        return "STOP SLAVE", "RESET SLAVE ALL"

    def _wait_for(self, gtids: str) -> str:
        return f"SELECT MASTER_GTID_WAIT('{gtids}', {REPLICA_SECONDS})"


def _log_options(server_id: int, full_metadata: bool) -> dict[str, str]:
    return {
        "server-id": str(server_id),
        "log-bin": "binlog",
        "binlog-format": "ROW",
        "binlog-row-metadata": "FULL" if full_metadata else "MINIMAL",
        "sync-binlog": "0",
        "local-infile": "ON",
    }


@contextmanager
def mysql_server(**options: Any) -> Iterator[MySQL]:
    """A MySQL server of one test, with the options of `MySQL`."""
    with server_directory("mysql") as directory, MySQL(directory, **options) as server:
        yield server


@contextmanager
def mariadb_server(**options: Any) -> Iterator[MariaDBWithLog]:
    """A MariaDB server of one test, with the options of `MariaDBWithLog`."""
    with server_directory("mariadb") as directory, MariaDBWithLog(directory, **options) as server:
        yield server


@pytest.fixture(scope="session")
def mysql() -> Iterator[MySQL]:
    """The process's MySQL."""
    with mysql_server() as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_with_log() -> Iterator[MariaDBWithLog]:
    """The process's MariaDB that has a binary log."""
    with mariadb_server() as server:
        yield server


@pytest.fixture
def mysql_database(mysql: MySQL) -> Iterator[Database]:
    """An empty database of this test in MySQL."""
    database = mysql.new_database()
    yield database
    database.drop()


@pytest.fixture
def mariadb_with_log_database(mariadb_with_log: MariaDBWithLog) -> Iterator[Database]:
    """An empty database of this test in the MariaDB that has a binary log."""
    database = mariadb_with_log.new_database()
    yield database
    database.drop()
