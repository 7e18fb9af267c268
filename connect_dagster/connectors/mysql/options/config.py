"""Configurations of ``io.debezium.connector.mysql.MySqlConnector`` and ``….mariadb.MariaDbConnector``.

Options and values are those of Debezium 3.6.1, and 3.5.0 for MariaDB. Old names are accepted
(:mod:`~connect_dagster.connectors.mysql.options.old_names`), some options change nothing
(:mod:`~connect_dagster.connectors.mysql.options.without_effect`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import ClassVar, Self

from connect_dagster.connectors.mysql.locking_modes import MARIADB_MODES, LockingMode, Locks
from connect_dagster.connectors.mysql.options import history, signals
from connect_dagster.connectors.mysql.options.checks import choice, chosen, with_recommended_values
from connect_dagster.connectors.mysql.options.columns import ColumnOptions
from connect_dagster.connectors.mysql.options.connection import TLS, ConnectionOptions
from connect_dagster.connectors.mysql.options.converters import (
    ColumnConverter,
    column_converters,
    converter_prefixes,
    unused_converters,
    wrong_converters,
)
from connect_dagster.connectors.mysql.options.events import EventOptions
from connect_dagster.connectors.mysql.options.failures import FailureOptions
from connect_dagster.connectors.mysql.options.history import HistoryOptions
from connect_dagster.connectors.mysql.options.misspellings import Misspelling, misspellings
from connect_dagster.connectors.mysql.options.old_names import (
    MISTAKEN,
    OLD_NAMES,
    OLD_PREFIXES,
    Renamed,
    with_present_names,
)
from connect_dagster.connectors.mysql.options.selection import LISTS, SelectionOptions
from connect_dagster.connectors.mysql.options.signals import SignalOptions
from connect_dagster.connectors.mysql.options.snapshots import SNAPSHOT, SnapshotOptions
from connect_dagster.connectors.mysql.options.topics import TopicOptions
from connect_dagster.connectors.mysql.options.without_effect import (
    MARIADB_WITHOUT_EFFECT,
    MYSQL_WITHOUT_EFFECT,
    warnings,
)
from connect_dagster.connectors.mysql.selection.column_rules import PREFIXES as RULE_PREFIXES
from connect_dagster.connectors.mysql.selection.column_rules import shown_key, wrong_rules
from connect_dagster.connectors.mysql.selection.filters import CaptureFilters
from connect_dagster.connectors.mysql.selection.select_overrides import OPTION as OVERRIDES
from connect_dagster.connectors.mysql.selection.select_overrides import SelectOverrides
from connect_dagster.connectors.mysql.server.tls import DEMANDS, MariaDbTlsMode, MySqlTlsMode, TlsDemands
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigKey,
    ConfigTable,
    ConfigValue,
    FindClass,
    Importance,
    Width,
    config_group,
    config_key,
)
from connect_dagster.plugin.config.table import Properties

log = logging.getLogger(__name__)

_PREFIXES = (*RULE_PREFIXES, f"{OVERRIDES}.", signals.CONSUMER, history.CONSUMER, history.PRODUCER, "driver.")
_MODE_DOC = (
    "'extended' until all rows are read; 'none' takes no locks, which is safe if no table changes its structure then."
)
_CUSTOM = {"custom": "A class of the JVM cannot be loaded"}


class BinlogConfig(
    SnapshotOptions,
    SignalOptions,
    HistoryOptions,
    FailureOptions,
    EventOptions,
    ColumnOptions,
    SelectionOptions,
    TopicOptions,
    ConnectionOptions,
):
    """Options that both connectors have."""

    without_effect: ClassVar[tuple[ConfigKey, ...]] = MARIADB_WITHOUT_EFFECT

    converters: str | None = config_key(
        "converters",
        default=None,
        importance=Importance.LOW,
        width=Width.MEDIUM,
        display_name="List of prefixes defining custom values converters.",
        doc="Names of converters, each with its class in the option <name>.type: TinyIntOneToBooleanConverter or "
        "ZeroDateFallbackConverter.",
    )

    @classmethod
    def table(cls) -> ConfigTable:
        """Return the options, those without effect at the end."""
        return ConfigTable(tuple(map(with_recommended_values, (*super().table(), *cls.without_effect))))

    @classmethod
    def parse(cls, props: Properties, find_class: FindClass | None = None) -> Self:
        """Return the configuration; ``originals`` has present names. Warnings go to the log.

        Raises:
            ConfigError: the first option that is missing, wrong, given twice or another's.
        """
        renamed = with_present_names(props)
        for error in cls._errors(renamed):
            raise error
        parsed = super().parse(renamed.properties, find_class)
        for warning in cls._warnings(renamed):
            log.warning("%s", warning)
        return parsed

    @classmethod
    def validate_all(cls, props: Properties, find_class: FindClass | None = None) -> list[ConfigValue]:
        """Return the checked value of each option with all its errors; those at unknown names come last."""
        renamed = with_present_names(props)
        values = super().validate_all(renamed.properties, find_class)
        for error in cls._errors(renamed):
            _add(error, values)
        return values

    @classmethod
    def warnings(cls, props: Properties) -> list[str]:
        """Return what to say of a valid configuration: old names, options without effect, names that look misspelt."""
        return cls._warnings(with_present_names(props))

    @classmethod
    def _warnings(cls, renamed: Renamed) -> list[str]:
        return [
            *renamed.warnings,
            *map(str, cls._misspellings(renamed)),
            *warnings(cls.without_effect, renamed.properties),
            *SelectOverrides.parse(renamed.properties).warnings,
            *unused_converters(renamed.properties),
            *_unused_channels(renamed.properties),
            *_unused_others(renamed.properties),
        ]

    @property
    def filters(self) -> CaptureFilters:
        """Return what is captured."""
        return CaptureFilters(
            self.database_filter,
            self.table_filter,
            self.column_filter,
            self.of_snapshot,
            self.ignores_built_in,
            self.signal_table,
            self.history_scope,
        )

    @property
    def column_converters(self) -> tuple[ColumnConverter, ...]:
        """Return the converters of columns."""
        return column_converters(self.originals)

    @classmethod
    def _errors(cls, renamed: Renamed) -> Iterator[ConfigError]:
        """Yield what is wrong beside the values of single options."""
        yield from renamed.errors
        yield from cls._missing(renamed)
        yield from _combinations(renamed.properties)
        yield from wrong_rules(renamed.properties)
        yield from wrong_converters(renamed.properties)

    @classmethod
    def _missing(cls, renamed: Renamed) -> Iterator[ConfigError]:
        """Yield an error for each required option that is given under a name that looks misspelt."""
        required = {key.name for key in cls.table() if key.required}
        for found in cls._misspellings(renamed):
            if found.present in required - renamed.properties.keys():
                yield ConfigError.missing(found.present, found.given)

    @classmethod
    def _misspellings(cls, renamed: Renamed) -> list[Misspelling]:
        names = {key.name: key.name for key in cls.table()}
        names |= {old: now.name for old, now in OLD_NAMES.items()} | {name: name for name in MISTAKEN}
        prefixes = {prefix: prefix for prefix in (*_PREFIXES, *converter_prefixes(renamed.properties))}
        return list(misspellings(renamed.properties, names, {**prefixes, **OLD_PREFIXES}))


class MySqlConfig(BinlogConfig):
    """Configuration of the MySQL connector."""

    without_effect: ClassVar[tuple[ConfigKey, ...]] = MYSQL_WITHOUT_EFFECT

    with config_group(TLS, importance=Importance.MEDIUM, width=Width.MEDIUM, first=0):
        tls_mode: str = config_key(
            "database.ssl.mode",
            default=MySqlTlsMode.PREFERRED.value,
            validator=choice(MySqlTlsMode),
            display_name="SSL mode",
            doc="'disabled' for no TLS; 'preferred' for TLS if the server has it; 'required' for TLS; 'verify_ca' with "
            "a certificate that a trusted authority signed; 'verify_identity' which also names the host.",
        )
    with config_group(SNAPSHOT, importance=Importance.LOW, width=Width.SHORT):
        locking_mode: str = config_key(
            "snapshot.locking.mode",
            default=LockingMode.MINIMAL.value,
            validator=choice(LockingMode, _CUSTOM),
            display_name="Snapshot locking mode",
            doc="How long a snapshot keeps others from writing: 'minimal' until the structure of tables is read; "
            "'minimal_percona' the same with a lock for backups, 'minimal_percona_no_table_locks' and no other; "
            "'minimal_at_least_once' without a view that all tables share, so that records may come twice; "
            f"{_MODE_DOC}",
        )

    @property
    def tls(self) -> TlsDemands:
        """Return what the mode of TLS demands."""
        return DEMANDS[chosen(MySqlTlsMode, self.tls_mode)]

    @property
    def snapshot_locks(self) -> Locks:
        """Return what a snapshot locks."""
        return self.locks(self.locking_mode)


class MariaDbConfig(BinlogConfig):
    """Configuration of the MariaDB connector."""

    with config_group(TLS, importance=Importance.MEDIUM, width=Width.MEDIUM, first=0):
        tls_mode: str = config_key(
            "database.ssl.mode",
            default=MariaDbTlsMode.DISABLE.value,
            validator=choice(MariaDbTlsMode),
            display_name="SSL mode",
            doc="'disable' for no TLS; 'trust' for TLS with any certificate; 'verify-ca' with one that a trusted "
            "authority signed; 'verify-full' which also names the host.",
        )
    with config_group(SNAPSHOT, importance=Importance.LOW, width=Width.SHORT):
        locking_mode: str = config_key(
            "snapshot.locking.mode",
            default=LockingMode.MINIMAL.value,
            validator=choice(MARIADB_MODES, _CUSTOM),
            width=Width.NONE,
            display_name="Snapshot locking mode",
            doc="How long a snapshot keeps others from writing: 'minimal' until the structure of tables is read; "
            f"{_MODE_DOC}",
        )

    @property
    def tls(self) -> TlsDemands:
        """Return what the mode of TLS demands."""
        return DEMANDS[chosen(MariaDbTlsMode, self.tls_mode)]

    @property
    def snapshot_locks(self) -> Locks:
        """Return what a snapshot locks."""
        return self.locks(self.locking_mode)


def _combinations(properties: Mapping[str, str]) -> Iterator[ConfigError]:
    """Yield what is wrong with several options together, at the option to change."""
    for include, exclude in LISTS:
        if properties.get(include, "").strip() and properties.get(exclude, "").strip():
            yield ConfigError.invalid(
                exclude, properties[exclude], f'"{include}" is already specified: give one of both'
            )
    if signals.KAFKA in _items(properties, signals.CHANNELS) and not properties.get(signals.SIGNAL_SERVERS, "").strip():
        reason = f"Signals come from a topic, by {signals.CHANNELS}: its brokers must be given"
        yield ConfigError.invalid(signals.SIGNAL_SERVERS, properties.get(signals.SIGNAL_SERVERS), reason)
    if signals.SINK in _items(properties, signals.SINKS) and not properties.get(signals.SINK_TOPIC, "").strip():
        reason = f"Notifications go to a topic, by {signals.SINKS}: its name must be given"
        yield ConfigError.invalid(signals.SINK_TOPIC, properties.get(signals.SINK_TOPIC), reason)


def _items(properties: Mapping[str, str], name: str) -> list[str]:
    return [item.strip() for item in properties.get(name, "").split(",")]


def _unused_channels(properties: Mapping[str, str]) -> Iterator[str]:
    for name, reasons in signals.WITHOUT_EFFECT.items():
        for channel in _items(properties, name):
            if channel in reasons:
                yield f"'{channel}' in {name} is without effect: {reasons[channel]}"


def _unused_others(properties: Mapping[str, str]) -> Iterator[str]:
    for name in properties:
        if name.removeprefix("database.").removeprefix("driver.").lower() == "connectiontimezone":
            yield f"{name} is without effect here. TIMESTAMP columns are read in UTC, whatever the server's zone is."
    if properties.get(signals.HEARTBEAT_QUERY) and int(properties.get(signals.HEARTBEAT_INTERVAL) or 0) == 0:
        yield f"{signals.HEARTBEAT_QUERY} is without effect: {signals.HEARTBEAT_INTERVAL} is 0, for no heartbeats"


def _add(error: ConfigError, values: list[ConfigValue]) -> None:
    """Add an error to the value of its option, a new one where the connector has none of this name."""
    name = shown_key(error.name or "")
    found = next((value for value in values if value.name == name), None)
    if found is None:
        values.append(found := ConfigValue(name))
    generic = ConfigError.missing(name).message
    found.errors = [text for text in found.errors if not error.message.startswith(generic) or text != generic]
    found.errors.append(error.message)
