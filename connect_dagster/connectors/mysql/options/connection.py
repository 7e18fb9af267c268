"""Options of connections to the server: address, access, TLS, timeouts, the id as its replica."""

from __future__ import annotations

import re
import ssl

from connect_dagster.connectors.mysql.server.login import Login, LogSession, split_statements
from connect_dagster.connectors.mysql.server.tls import StoreFile, TlsDemands, client_context
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Password,
    Type,
    Width,
    at_least,
    between,
    config_group,
    config_key,
    non_empty_string,
)

CONNECTION, TLS = "Connection", "Connection: TLS"
SERVER_ID = "database.server.id"
GREATEST_SERVER_ID = (1 << 32) - 1
_HOST = re.compile(r"[a-zA-Z0-9_.:-]+")


def _host(name: str, value: str | None) -> None:
    if value is not None and not _HOST.fullmatch(value):
        raise ConfigError.invalid(
            name, value, "It must be the name or the address of a host; the port is another option"
        )


class ConnectionOptions(ConfigDef):
    """Address and access; further keys ``database.<name>`` and ``driver.<name>`` are for Java's driver alone."""

    with config_group(CONNECTION, importance=Importance.HIGH, width=Width.MEDIUM):
        host: str = config_key(
            "database.hostname",
            validator=_host,
            display_name="Hostname",
            doc="Name or address of the server's host.",
        )
        port: int = config_key(
            "database.port",
            default=3306,
            validator=between(1, 65535),
            width=Width.SHORT,
            display_name="Port",
            doc="The server's port.",
        )
        user: str = config_key(
            "database.user",
            validator=non_empty_string,
            width=Width.SHORT,
            display_name="User",
            doc="User with the rights SELECT, RELOAD or LOCK TABLES, REPLICATION SLAVE and REPLICATION CLIENT.",
        )
        password: Password | None = config_key(
            "database.password", default=None, display_name="Password", width=Width.SHORT, doc="The user's password."
        )
        server_id: int = config_key(
            SERVER_ID,
            type=Type.LONG,
            validator=between(1, GREATEST_SERVER_ID),
            width=Width.LONG,
            display_name="Cluster ID",
            doc="Number of this connector among the server and its replicas. No other replica or connector may have "
            "it: the server ends the older connection of two with one number.",
        )
        initial_statements: str | None = config_key(
            "database.initial.statements",
            default=None,
            importance=Importance.LOW,
            width=Width.LONG,
            display_name="Initial statements",
            doc="Statements with which each session begins but that of the binary log, such as SET sql_log_bin = 0. A "
            "semicolon separates them; two semicolons are one in a statement.",
        )
        connect_timeout_ms: int = config_key(
            "connect.timeout.ms",
            default=30_000,
            importance=Importance.MEDIUM,
            validator=at_least(1),
            width=Width.SHORT,
            display_name="Connection Timeout (ms)",
            doc="Longest wait for a connection.",
        )
        keep_alive: bool = config_key(
            "connect.keep.alive",
            default=True,
            importance=Importance.LOW,
            width=Width.SHORT,
            display_name="Keep connection alive (true/false)",
            doc="Whether a connection on which nothing comes for connect.keep.alive.interval.ms counts as lost.",
        )
        keep_alive_interval_ms: int = config_key(
            "connect.keep.alive.interval.ms",
            type=Type.LONG,
            default=60_000,
            importance=Importance.LOW,
            validator=at_least(1),
            width=Width.SHORT,
            display_name="Keep alive interval (ms)",
            doc="That interval. The server is told to send a heartbeat well within it.",
        )
        net_write_timeout: int = config_key(
            "binlog.net.write.timeout",
            type=Type.LONG,
            default=0,
            importance=Importance.MEDIUM,
            validator=at_least(0),
            width=Width.SHORT,
            display_name="Binlog Net Write Timeout",
            doc="Seconds for which the server waits while the connector takes no events. With 0 it waits 600 seconds.",
        )
        net_read_timeout: int = config_key(
            "binlog.net.read.timeout",
            type=Type.LONG,
            default=0,
            importance=Importance.MEDIUM,
            validator=at_least(0),
            width=Width.SHORT,
            display_name="Binlog Net Read Timeout",
            doc="Seconds for which the server waits for the connector's packets; with 0 as many as it is set to.",
        )
    with config_group(TLS, importance=Importance.MEDIUM, width=Width.LONG):
        key_store: str | None = config_key(
            "database.ssl.keystore",
            default=None,
            display_name="SSL Keystore",
            doc="File with the connector's own key and certificate, PKCS12, JKS or PEM.",
        )
        key_store_password: Password | None = config_key(
            "database.ssl.keystore.password",
            default=None,
            width=Width.MEDIUM,
            display_name="SSL Keystore Password",
            doc="Password of that file.",
        )
        trust_store: str | None = config_key(
            "database.ssl.truststore",
            default=None,
            display_name="SSL Truststore",
            doc="File with certificates to trust, PKCS12, JKS or PEM. Left out, the system's are trusted.",
        )
        trust_store_password: Password | None = config_key(
            "database.ssl.truststore.password",
            default=None,
            width=Width.MEDIUM,
            display_name="SSL Truststore Password",
            doc="Password of that file.",
        )

    def login(self, demands: TlsDemands) -> Login:
        """Return how to connect.

        Args:
            demands: of the mode of TLS.

        Raises:
            ConfigError: a store of keys or certificates cannot be read.
        """
        return Login(
            self.host,
            self.port,
            self.user,
            _text(self.password) or "",
            self._context(demands),
            demands.plain_instead,
            self.connect_timeout_ms / 1000,
        )

    @property
    def log_session(self) -> LogSession:
        """Return the settings of the session that reads the binary log."""
        interval = self.keep_alive_interval_ms if self.keep_alive else None
        return LogSession(self.net_write_timeout, self.net_read_timeout, interval)

    @property
    def first_statements(self) -> tuple[str, ...]:
        """Return the statements with which the other sessions begin."""
        return split_statements(self.initial_statements or "")

    def _context(self, demands: TlsDemands) -> ssl.SSLContext | None:
        if not demands.encrypted:
            return None
        keys = _store(self.key_store, self.key_store_password)
        return client_context(demands, keys, _store(self.trust_store, self.trust_store_password))


def _store(location: str | None, password: Password | None) -> StoreFile | None:
    return StoreFile(location, _text(password)) if location else None


def _text(password: Password | None) -> str | None:
    return None if password is None else password.value
