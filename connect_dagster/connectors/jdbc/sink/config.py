"""Configuration of the JDBC sink: names, types, defaults and groups of Java's connector (``JdbcSinkConfig`` 10.x).

``exactly.once`` is ours. Java's keys about one database's own statements (``mssql.use.merge.holdlock``) and about
credentials from a Java class are unknown here, as is ``date.calendar.system``: dates are proleptic Gregorian.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Self, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import model_validator

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Password,
    Type,
    Validator,
    Width,
    at_least,
    config_group,
    config_key,
    non_empty_string,
)


class InsertMode(Enum):
    """Handling of a record whose row exists."""

    INSERT = "insert"
    UPSERT = "upsert"
    UPDATE = "update"


class KeyMode(Enum):
    """Origin of the columns of a table's primary key."""

    NONE = "none"
    KAFKA = "kafka"
    RECORD_KEY = "record_key"
    RECORD_VALUE = "record_value"


class DateZone(Enum):
    """By which clock the day of a date is taken."""

    DB_TIMEZONE = "db_timezone"
    UTC = "utc"


class Precision(Enum):
    """Unit of the numbers in ``timestamp.fields.list``, with their count in a second."""

    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"


class Quotes(Enum):
    """Quoting of names."""

    ALWAYS = "always"
    NEVER = "never"


TABLE_TYPES = ("TABLE", "PARTITIONED TABLE", "VIEW")
KAFKA_KEY = ("__connect_topic", "__connect_partition", "__connect_offset")

_CONNECTION, _WRITES, _MAPPING = "Connection", "Writes", "Data Mapping"
_DDL, _RETRIES = "DDL Support", "Retries"
_Words = TypeVar("_Words", bound=Enum)


def _of(words: type[Enum] | Sequence[str]) -> Validator:
    """One of these words, or several, in upper or in lower case (Java: ``EnumValidator``)."""
    canonical = [word.lower() for word in _texts(words)]
    allowed = {form for word in canonical for form in (word, word.upper())}

    def check(name: str, value: Any) -> None:
        several = isinstance(value, tuple)
        if several and not value:
            listed = ", ".join(canonical)
            reason = f"At least one value must be specified. Valid values are: [{listed}]"
            raise ConfigError.invalid(name, value, reason)
        for one in value if several else [value]:
            if one is not None and one not in allowed:
                raise ConfigError.invalid(name, one, f"Invalid enumerator; it is one of {', '.join(canonical)}")

    return check


def _texts(words: type[Enum] | Sequence[str]) -> list[str]:
    return [word.value for word in words] if isinstance(words, type) else list(words)


def _time_zone(name: str, value: Any) -> None:
    try:
        ZoneInfo(value or "")
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError.invalid(name, value, "Invalid time zone identifier") from error


class JdbcSinkConfig(ConfigDef):
    """Configuration of the sink; further keys ``connection.<name>`` go to the driver as ``<name>``."""

    with config_group(_CONNECTION, importance=Importance.HIGH, width=Width.LONG):
        connection_url: str = config_key(
            "connection.url",
            display_name="JDBC URL",
            doc="JDBC URL of the database, such as jdbc:postgresql://localhost:5432/shop.",
        )
        connection_user: str | None = config_key(
            "connection.user",
            default=None,
            width=Width.MEDIUM,
            display_name="JDBC User",
            doc="User of the database, unless the URL has one.",
        )
        connection_password: Password | None = config_key(
            "connection.password",
            default=None,
            width=Width.MEDIUM,
            display_name="JDBC Password",
            doc="The user's password.",
        )
        dialect_name: str = config_key(
            "dialect.name",
            default="",
            importance=Importance.LOW,
            order_in_group=5,
            display_name="Database Dialect",
            doc="Kind of database, if the URL does not show it, such as PostgreSqlDatabaseDialect.",
        )
        connection_attempts: int = config_key(
            "connection.attempts",
            default=3,
            importance=Importance.LOW,
            validator=at_least(1),
            width=Width.SHORT,
            display_name="JDBC connection attempts",
            doc="How often a connection is tried before that counts as a failure.",
        )
        connection_backoff_ms: int = config_key(
            "connection.backoff.ms",
            type=Type.LONG,
            default=10_000,
            importance=Importance.LOW,
            width=Width.SHORT,
            display_name="JDBC connection backoff in milliseconds",
            doc="Milliseconds between two of these attempts.",
        )
    with config_group(_WRITES, width=Width.MEDIUM):
        insert_mode_text: str = config_key(
            "insert.mode",
            default="insert",
            importance=Importance.HIGH,
            validator=_of(InsertMode),
            display_name="Insert Mode",
            doc="What is done with a record. insert: a new row, and an error where the database has one with that key. "
            "upsert: a new row, or the row with that key gets the record's values. "
            "update: the row with that key gets them; without one nothing happens.",
        )
        batch_size: int = config_key(
            "batch.size",
            default=3000,
            validator=at_least(0),
            width=Width.SHORT,
            display_name="Batch Size",
            doc="Rows that a driver without bulk load sends at once. Where the database loads in bulk (MariaDB, MySQL, "
            "PostgreSQL) all records of a put go at once.",
        )
        delete_enabled: bool = config_key(
            "delete.enabled",
            default=False,
            width=Width.SHORT,
            display_name="Enable deletes",
            doc="Whether a record without a value deletes the row with its key; needs pk.mode=record_key.",
        )
        table_types_text: tuple[str, ...] = config_key(
            "table.types",
            default=("TABLE",),
            importance=Importance.LOW,
            validator=_of(TABLE_TYPES),
            display_name="Table Types",
            doc="What may be written to: TABLE, PARTITIONED TABLE, VIEW, or several of them.",
        )
        replace_null_with_default: bool = config_key(
            "replace.null.with.default",
            default=True,
            importance=Importance.LOW,
            display_name="Replace null value with default value",
            doc="Whether the default value of a field's schema is written in place of null.",
        )
        exactly_once: bool = config_key(
            "exactly.once",
            default=False,
            width=Width.SHORT,
            display_name="Exactly once",
            doc="Whether the offsets of a batch are written in its own transaction, into the table connect_offsets of "
            "the same database, which is created if missing: after a crash the task continues from them.",
        )
    with config_group(_MAPPING, width=Width.MEDIUM):
        table_name_format: str = config_key(
            "table.name.format",
            default="${topic}",
            validator=non_empty_string,
            width=Width.LONG,
            display_name="Table Name Format",
            doc="Name of the table, in which ${topic} stands for the record's topic; may begin with a schema.",
        )
        pk_mode_text: str = config_key(
            "pk.mode",
            default="none",
            importance=Importance.HIGH,
            validator=_of(KeyMode),
            display_name="Primary Key Mode",
            doc="Where the columns of the primary key come from. none: there is none. kafka: topic, partition and "
            "offset. record_key: the record's key, a struct or a single value. record_value: fields of the value.",
        )
        pk_fields: tuple[str, ...] = config_key(
            "pk.fields",
            default=(),
            width=Width.LONG,
            display_name="Primary Key Fields",
            doc="The columns of the primary key. kafka: three names, __connect_topic, __connect_partition and "
            "__connect_offset unless given. record_key: fields of the key, all of them unless given; one name for a "
            "key that is a single value. record_value: fields of the value, all of them unless given.",
        )
        fields_whitelist: tuple[str, ...] = config_key(
            "fields.whitelist",
            default=(),
            width=Width.LONG,
            display_name="Fields Whitelist",
            doc="Fields of the value to write, in addition to those of the key; all fields by default.",
        )
        db_timezone: str = config_key(
            "db.timezone",
            default="UTC",
            validator=_time_zone,
            display_name="DB Time Zone",
            doc="Time zone in which points in time are written.",
        )
        date_timezone_text: str = config_key(
            "date.timezone",
            default="DB_TIMEZONE",
            importance=Importance.LOW,
            validator=_of(DateZone),
            display_name="Time Zone used for Date",
            doc="Time zone by which the day of a date is taken: that of db.timezone, or UTC, where it stays as it is.",
        )
        timestamp_fields: tuple[str, ...] = config_key(
            "timestamp.fields.list",
            default=(),
            display_name="Timestamp Fields Whitelist",
            doc="Fields of the value, numbers (int64) or numbers as text, that are points in time since 1970.",
        )
        timestamp_precision_text: str = config_key(
            "timestamp.precision.mode",
            default="MICROSECONDS",
            importance=Importance.LOW,
            validator=_of(Precision),
            display_name="Sink Timestamp Precision mode",
            doc="What the numbers in timestamp.fields.list count: microseconds or nanoseconds.",
        )
        string_column: str = config_key(
            "string.output.value.column.name",
            default="record_value",
            importance=Importance.LOW,
            validator=non_empty_string,
            order_in_group=10,
            display_name="String Value Column Name",
            doc="Column for the value of a record whose value is a single text, as StringConverter makes it.",
        )
    with config_group(_DDL, width=Width.SHORT):
        auto_create: bool = config_key(
            "auto.create",
            default=False,
            display_name="Auto-Create",
            doc="Whether a table that is missing is created from the records' schema.",
        )
        auto_evolve: bool = config_key(
            "auto.evolve",
            default=False,
            display_name="Auto-Evolve",
            doc="Whether columns that are missing are added to a table from the records' schema.",
        )
        quotes_text: str = config_key(
            "quote.sql.identifiers",
            default="ALWAYS",
            validator=_of(Quotes),
            width=Width.MEDIUM,
            display_name="Quote Identifiers",
            doc="Whether names of tables and columns are quoted in statements: always or never.",
        )
    with config_group(_RETRIES, width=Width.SHORT):
        max_retries: int = config_key(
            "max.retries",
            default=10,
            validator=at_least(0),
            display_name="Maximum Retries",
            doc="How often a batch that the database refused is tried again before the task fails.",
        )
        retry_backoff_ms: int = config_key(
            "retry.backoff.ms",
            default=3000,
            validator=at_least(0),
            display_name="Retry Backoff (millis)",
            doc="Milliseconds before it is tried again.",
        )

    @model_validator(mode="after")
    def _deletes_need_keys(self) -> Self:
        if self.delete_enabled and self.pk_mode is not KeyMode.RECORD_KEY:
            raise ConfigError(
                "Deletes are only supported for pk.mode record_key", name="delete.enabled", value=self.delete_enabled
            )
        return self

    @property
    def insert_mode(self) -> InsertMode:
        """Return the handling of a record whose row exists."""
        return _word(InsertMode, self.insert_mode_text)

    @property
    def pk_mode(self) -> KeyMode:
        """Return the origin of the primary key."""
        return _word(KeyMode, self.pk_mode_text)

    @property
    def keyed(self) -> bool:
        """Return whether the key's columns come from the records."""
        return self.pk_mode in (KeyMode.RECORD_KEY, KeyMode.RECORD_VALUE)

    @property
    def precision(self) -> Precision:
        """Return the unit of numbers that are points in time."""
        return _word(Precision, self.timestamp_precision_text)

    @property
    def date_timezone(self) -> str:
        """Return the time zone for dates."""
        return "UTC" if _word(DateZone, self.date_timezone_text) is DateZone.UTC else self.db_timezone

    @property
    def quoted(self) -> bool:
        """Return whether names are quoted."""
        return _word(Quotes, self.quotes_text) is Quotes.ALWAYS

    @property
    def table_types(self) -> tuple[str, ...]:
        """Return the kinds of tables that may be written to, by JDBC's names."""
        return tuple(word.upper() for word in self.table_types_text)


def _word(words: type[_Words], text: str) -> _Words:
    return words(text.lower())
