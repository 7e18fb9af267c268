"""Options of the JDBC source: names, types and defaults of the connectors in Java, and some of our own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import model_validator

from connect_dagster.connectors.jdbc.database import Database
from connect_dagster.connectors.jdbc.dialects import DIALECTS, find_dialect
from connect_dagster.connectors.jdbc.source.columns import GRANULARITIES, NUMERIC_MAPPINGS
from connect_dagster.errors import ConfigError
from connect_dagster.expressions import java_patterns
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Password,
    Recommender,
    Type,
    Width,
    at_least,
    config_group,
    config_key,
    non_empty_string,
    one_of,
    one_of_ignoring_case,
)

DATABASE, MODE, CONNECTOR = "Database", "Mode", "Connector"
BULK, INCREMENTING, TIMESTAMP_MODE, BOTH = "bulk", "incrementing", "timestamp", "timestamp+incrementing"
_NOT_IN_TOPICS = re.compile(r"[^a-zA-Z0-9._-]")
_LONGEST_TOPIC = 249
_ISOLATIONS = ("DEFAULT", "READ_UNCOMMITTED", "READ_COMMITTED", "REPEATABLE_READ", "SERIALIZABLE")
_OF_MODES: Mapping[str, frozenset[str]] = {
    "incrementing.column.name": frozenset({INCREMENTING, BOTH}),
    "incrementing.column.mapping": frozenset({INCREMENTING, BOTH}),
    "incrementing.initial": frozenset({INCREMENTING, BOTH}),
    "timestamp.column.name": frozenset({TIMESTAMP_MODE, BOTH}),
    "timestamp.columns.mapping": frozenset({TIMESTAMP_MODE, BOTH}),
    "timestamp.initial": frozenset({TIMESTAMP_MODE, BOTH}),
    "validate.non.null": frozenset({INCREMENTING, TIMESTAMP_MODE, BOTH}),
}
_CREDENTIALS_PROVIDER = "jdbc.credentials.provider.class"


def _regexes(name: str, value: Sequence[str]) -> None:
    for regex in value or ():
        java_patterns.regex(name, regex.strip())


def _column_mapping(name: str, value: Sequence[str]) -> None:
    for one in value or ():
        regex, _, column = one.partition(":")
        if not column.strip() or ":" in column:
            raise ConfigError.invalid(name, one, "Each entry must be a regular expression, a colon and a column")
        java_patterns.regex(name, regex.strip())


def _columns_mapping(name: str, value: Sequence[str]) -> None:
    _column_mapping(name, value)
    for one in value or ():
        columns = one.partition(":")[2].strip()
        if not re.fullmatch(r"\[\s*[^\s|\]][^|\]]*(\|\s*[^\s|\]][^|\]]*)*\]", columns):
            raise ConfigError.invalid(name, one, "Columns must be in square brackets, separated by |")


def _topic_prefix(name: str, value: str | None) -> None:
    prefix = (value or "").strip()
    if len(prefix) > _LONGEST_TOPIC:
        raise ConfigError.invalid(name, value, f"A topic's name has at most {_LONGEST_TOPIC} characters")
    if _NOT_IN_TOPICS.search(prefix):
        raise ConfigError.invalid(name, value, "A topic's name consists of ASCII letters, digits, '.', '_' and '-'")


def _zone(name: str, value: str) -> None:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise ConfigError.invalid(name, value, "The time zone is unknown; an example is Asia/Seoul") from None


def _dialect(name: str, value: str) -> None:
    if value:
        find_dialect("", value)


def _nullable(*allowed: str) -> Any:
    check = one_of_ignoring_case(*allowed)
    return lambda name, value: None if value is None else check(name, value)


def _proposing(*values: str) -> Recommender:
    return Recommender(lambda name, parsed: values)


_FOR_MODE = Recommender(lambda name, parsed: (), lambda name, parsed: parsed.get("mode") in _OF_MODES[name])
_HIDDEN = Recommender(lambda name, parsed: (), lambda name, parsed: False)


class JdbcSourceConfig(ConfigDef):
    """Configuration of the source; further keys ``connection.<name>`` go to the driver as ``<name>``."""

    with config_group(DATABASE, importance=Importance.LOW, width=Width.LONG):
        url: str = config_key(
            "connection.url",
            importance=Importance.HIGH,
            validator=non_empty_string,
            dependents=("table.whitelist", "table.blacklist"),
            display_name="JDBC URL",
            doc="JDBC URL of the database, such as jdbc:mysql://localhost:3306/shop or "
            "jdbc:postgresql://localhost/shop. Drivers of MariaDB, MySQL and PostgreSQL are there; that of another "
            "database comes from plugin.path.",
        )
        user: str | None = config_key(
            "connection.user",
            default=None,
            importance=Importance.HIGH,
            display_name="JDBC User",
            doc="User of the database, unless the URL names one.",
        )
        password: Password | None = config_key(
            "connection.password",
            default=None,
            importance=Importance.HIGH,
            width=Width.SHORT,
            display_name="JDBC Password",
            doc="The user's password.",
        )
        attempts: int = config_key(
            "connection.attempts",
            default=3,
            validator=at_least(1),
            width=Width.SHORT,
            display_name="JDBC connection attempts",
            doc="How often to try to connect before the connector fails. A wrong password is not tried again.",
        )
        backoff_ms: int = config_key(
            "connection.backoff.ms",
            type=Type.LONG,
            default=10_000,
            validator=at_least(0),
            width=Width.SHORT,
            display_name="JDBC connection backoff in milliseconds",
            doc="Time between two attempts to connect, or to read after the connection was lost.",
        )
        whitelist: tuple[str, ...] = config_key(
            "table.whitelist",
            default=(),
            importance=Importance.MEDIUM,
            display_name="Table Whitelist",
            doc="Tables to read, by name alone or with their schema or database before it. Not with table.blacklist.",
        )
        blacklist: tuple[str, ...] = config_key(
            "table.blacklist",
            default=(),
            importance=Importance.MEDIUM,
            display_name="Table Blacklist",
            doc="Tables to leave out, all others being read. Not with table.whitelist.",
        )
        include_list: tuple[str, ...] = config_key(
            "table.include.list",
            default=(),
            importance=Importance.MEDIUM,
            validator=_regexes,
            display_name="Tables Included (Regex)",
            doc="Regular expressions for full names of tables to read, such as shop\\.order.*. Takes the place of "
            "table.whitelist; columns then come from the two mappings.",
        )
        exclude_list: tuple[str, ...] = config_key(
            "table.exclude.list",
            default=(),
            importance=Importance.MEDIUM,
            validator=_regexes,
            display_name="Tables Excluded (Regex)",
            doc="Regular expressions for full names of tables to leave out of those that table.include.list matches.",
        )
        catalog_pattern: str | None = config_key(
            "catalog.pattern",
            default=None,
            importance=Importance.MEDIUM,
            width=Width.SHORT,
            display_name="Catalog pattern",
            doc="Catalog that tables are looked for in; an empty one means those without. Left out, all are.",
        )
        schema_pattern: str | None = config_key(
            "schema.pattern",
            default=None,
            importance=Importance.HIGH,
            width=Width.SHORT,
            display_name="Schema pattern",
            doc="Schema that tables are looked for in, with % and _ as in LIKE; an empty one means those without. "
            "Left out, all are.",
        )
        numeric_precision_mapping: bool = config_key(
            "numeric.precision.mapping",
            default=False,
            width=Width.SHORT,
            display_name="Map Numeric Values By Precision (deprecated)",
            doc="Deprecated: as numeric.mapping=precision_only, where that is left out.",
        )
        given_numeric_mapping: str | None = config_key(
            "numeric.mapping",
            default=None,
            validator=_nullable(*NUMERIC_MAPPINGS),
            recommender=_proposing(*NUMERIC_MAPPINGS),
            width=Width.SHORT,
            display_name="Map Numeric Values, Integral or Decimal, By Precision and Scale",
            doc="What NUMERIC columns become: 'none' Decimal always; 'precision_only' whole numbers where the scale "
            "is 0 and up to 18 digits suffice; 'best_fit' also doubles for up to 18 digits with a scale; "
            "'best_fit_eager_double' doubles for any scale. What does not fit stays Decimal.",
        )
        dialect_name: str = config_key(
            "dialect.name",
            default="",
            validator=_dialect,
            recommender=_proposing("", *DIALECTS),
            display_name="Database Dialect",
            doc="Kind of database, if the URL does not show it.",
        )
    with config_group(MODE, width=Width.MEDIUM):
        mode: str = config_key(
            "mode",
            default="",
            importance=Importance.HIGH,
            validator=one_of("", BULK, TIMESTAMP_MODE, INCREMENTING, BOTH),
            dependents=tuple(_OF_MODES),
            display_name="Table Loading Mode",
            doc="What is read at a poll: 'bulk' every row; 'incrementing' rows whose incrementing column is greater "
            "than any before, so no updates; 'timestamp' rows with a later timestamp; 'timestamp+incrementing' rows "
            "with a later timestamp, or the same one and a greater number. No mode but delete.scan.interval.ms finds "
            "deletes.",
        )
        incrementing_column: str = config_key(
            "incrementing.column.name",
            default="",
            recommender=_FOR_MODE,
            display_name="Incrementing Column Name",
            doc="Column whose values only grow. Left out, the one that the database numbers itself.",
        )
        timestamp_columns: tuple[str, ...] = config_key(
            "timestamp.column.name",
            default=(),
            recommender=_FOR_MODE,
            display_name="Timestamp Column Name",
            doc="Columns with the time of a row's last change: the first of them that is not null counts.",
        )
        timestamp_mapping: tuple[str, ...] = config_key(
            "timestamp.columns.mapping",
            default=(),
            validator=_columns_mapping,
            recommender=_FOR_MODE,
            width=Width.LONG,
            display_name="Table to timestamp columns mappings",
            doc="For table.include.list: entries such as shop\\.order.*:[changed|created] from full names of tables to "
            "their timestamp columns. Each table matches one entry.",
        )
        incrementing_mapping: tuple[str, ...] = config_key(
            "incrementing.column.mapping",
            default=(),
            validator=_column_mapping,
            recommender=_FOR_MODE,
            width=Width.LONG,
            display_name="Table to incrementing column mappings",
            doc="For table.include.list: entries such as shop\\.order.*:id from full names of tables to their "
            "incrementing column. Each table matches one entry.",
        )
        timestamp_initial: int | None = config_key(
            "timestamp.initial",
            type=Type.LONG,
            default=None,
            importance=Importance.LOW,
            recommender=_FOR_MODE,
            display_name="Unix time value of initial timestamp",
            doc="Epoch milliseconds after which rows are read when no offset is stored; -1 for now. By default, "
            "all rows are read.",
        )
        incrementing_initial: int = config_key(
            "incrementing.initial",
            type=Type.LONG,
            default=-1,
            importance=Importance.LOW,
            recommender=_FOR_MODE,
            display_name="Initial value of the incrementing column",
            doc="Value of the incrementing column after which rows are read when no offset is stored.",
        )
        validate_non_null: bool = config_key(
            "validate.non.null",
            default=True,
            importance=Importance.LOW,
            recommender=_FOR_MODE,
            width=Width.SHORT,
            display_name="Validate Non Null",
            doc="Whether a task fails when its incrementing column, or all of its timestamp columns, may be null: such "
            "rows are never read.",
        )
        given_query: str = config_key(
            "query",
            default="",
            width=Width.SHORT,
            display_name="Query",
            doc="Query to read instead of tables. The conditions of the mode come behind it, so it must have none of "
            "this kind unless the mode is bulk: put other conditions into a subquery.",
        )
        masked_query: Password | None = config_key(
            "query.masked",
            default=None,
            recommender=_HIDDEN,
            width=Width.SHORT,
            display_name="Query (Masked)",
            doc="As query, but shown nowhere.",
        )
        quote_identifiers: str = config_key(
            "quote.sql.identifiers",
            default="ALWAYS",
            validator=one_of_ignoring_case("ALWAYS", "NEVER"),
            recommender=_proposing("always", "never"),
            display_name="Quote Identifiers",
            doc="Whether names of tables and columns are quoted in SQL.",
        )
        query_suffix: str = config_key(
            "query.suffix",
            default="",
            importance=Importance.LOW,
            display_name="Query suffix",
            doc="Text to put behind each statement. Rows are then read in one go, by way of the worker's disk.",
        )
        isolation: str = config_key(
            "transaction.isolation.mode",
            default="DEFAULT",
            importance=Importance.LOW,
            validator=one_of(*_ISOLATIONS),
            recommender=_proposing(*_ISOLATIONS),
            display_name="Transaction Isolation Mode",
            doc="Isolation of the transactions that read; DEFAULT leaves it to the database.",
        )
        retries: int = config_key(
            "query.retry.attempts",
            default=-1,
            importance=Importance.LOW,
            validator=at_least(-1),
            display_name="Query Retry Attempts",
            doc="How often in a row a statement is tried again after the connection was lost, or the database chose "
            "to end its transaction; -1 forever.",
        )
        open_transactions_wait: bool = config_key(
            "open.transactions.wait",
            default=False,
            width=Width.SHORT,
            display_name="Wait For Open Transactions",
            doc="Whether rows are read up to the oldest open transaction only, so that none committed late is lost. "
            "MariaDB, MySQL (with the privilege PROCESS) and PostgreSQL (with the role pg_read_all_stats).",
        )
        delete_scan_interval_ms: int = config_key(
            "delete.scan.interval.ms",
            type=Type.LONG,
            default=0,
            validator=at_least(0),
            width=Width.SHORT,
            display_name="Delete Scan Interval (ms)",
            doc="How often the keys of all rows are read and compared with those of the time before: a row that is "
            "gone becomes a tombstone. Records then have the primary key as their key. 0 for never.",
        )
        delete_scan_location: str | None = config_key(
            "delete.scan.location",
            default=None,
            width=Width.LONG,
            display_name="Delete Scan Location",
            doc="Folder, which every worker can reach, for the keys of the last scan. Deletes of a time without the "
            "connector are found by it.",
        )
    with config_group(CONNECTOR, importance=Importance.LOW, width=Width.SHORT):
        table_types: tuple[str, ...] = config_key(
            "table.types",
            default=("TABLE",),
            width=Width.MEDIUM,
            display_name="Table Types",
            doc="Kinds of tables that are looked for, in the driver's words, such as TABLE and VIEW.",
        )
        poll_interval_ms: int = config_key(
            "poll.interval.ms",
            default=5000,
            importance=Importance.HIGH,
            validator=at_least(0),
            display_name="Poll Interval (ms)",
            doc="Time between two looks at a table for new rows.",
        )
        batch_max_rows: int = config_key(
            "batch.max.rows",
            default=1000,
            validator=at_least(1),
            display_name="Max Rows Per Batch",
            doc="Most rows in a batch. Left out, a batch has as many as take some megabytes.",
        )
        max_buffer_size: int = config_key(
            "max.buffer.size",
            default=0,
            display_name="Maximum Buffer Size",
            doc="Without effect: no more than three batches are on their way at any time.",
        )
        poll_linger_ms: int = config_key(
            "poll.linger.ms",
            type=Type.LONG,
            default=5000,
            display_name="Poll Linger Milliseconds",
            doc="Without effect: rows are sent as soon as they were read.",
        )
        parallel_reads: int = config_key(
            "parallel.reads",
            default=2,
            validator=at_least(1),
            display_name="Parallel Reads",
            doc="Most connections that one task reads a big batch with, each a part of it.",
        )
        table_poll_interval_ms: int = config_key(
            "table.poll.interval.ms",
            type=Type.LONG,
            default=60_000,
            validator=at_least(1),
            display_name="Metadata Change Monitoring Interval (ms)",
            doc="Time between two checks for new and removed tables; the tables are then distributed again.",
        )
        topic_prefix: str = config_key(
            "topic.prefix",
            importance=Importance.HIGH,
            validator=_topic_prefix,
            width=Width.MEDIUM,
            display_name="Topic Prefix",
            doc="What a topic's name has before the table's. For a query it is the whole name.",
        )
        timestamp_delay_ms: int = config_key(
            "timestamp.delay.interval.ms",
            type=Type.LONG,
            default=0,
            importance=Importance.HIGH,
            width=Width.MEDIUM,
            display_name="Delay Interval (ms)",
            doc="Age that a row must have, by its timestamp, before it is read: a simple way to give transactions "
            "time to end.",
        )
        zone: str = config_key(
            "db.timezone",
            default="UTC",
            importance=Importance.MEDIUM,
            validator=_zone,
            width=Width.MEDIUM,
            display_name="DB time zone",
            doc="Zone of the times that the database has without one.",
        )
        given_granularity: str = config_key(
            "timestamp.granularity",
            default="connect_logical",
            validator=one_of_ignoring_case(*GRANULARITIES),
            recommender=_proposing(*GRANULARITIES),
            width=Width.MEDIUM,
            display_name="Timestamp granularity for timestamp columns",
            doc="What timestamps become: 'connect_logical' Kafka Connect's own type, of milliseconds; else numbers, or "
            "text, of micro- or nanoseconds. Nanoseconds end in three zeros.",
        )

    @model_validator(mode="after")
    def _mode_given(self) -> Self:
        if not self.mode:
            raise ConfigError.invalid("mode", self.mode, "Query mode must be specified")
        return self

    @model_validator(mode="after")
    def _one_way_to_name_tables(self) -> Self:
        if self.whitelist and self.blacklist:
            raise ConfigError.invalid(
                "table.blacklist", self.blacklist, "It cannot be given together with table.whitelist"
            )
        old = self.whitelist or self.blacklist or self.incrementing_column or self.timestamp_columns
        new = self.include_list or self.exclude_list or self.incrementing_mapping or self.timestamp_mapping
        if old and new and not self.query:
            raise ConfigError.invalid(
                "table.include.list",
                self.include_list,
                "table.include.list, table.exclude.list, timestamp.columns.mapping and incrementing.column.mapping "
                "cannot be mixed with table.whitelist, table.blacklist, timestamp.column.name and "
                "incrementing.column.name",
            )
        if self.exclude_list and not self.include_list:
            raise ConfigError.invalid("table.exclude.list", self.exclude_list, "It needs table.include.list")
        return self

    @model_validator(mode="after")
    def _query_alone(self) -> Self:
        if self.given_query and self.masked_query is not None and self.masked_query.value:
            raise ConfigError.invalid("query.masked", self.masked_query, "It cannot be given together with query")
        if self.query and (self.whitelist or self.blacklist or self.include_list or self.exclude_list):
            raise ConfigError.invalid(
                self.query_key, self.shown_query, "query may not be combined with whole-table copying settings."
            )
        if self.query and self.uses_incrementing and not self.incrementing_column:
            raise ConfigError.invalid(
                "incrementing.column.name",
                self.incrementing_column,
                "The column cannot be detected with a query: set it",
            )
        return self

    @model_validator(mode="after")
    def _timestamp_columns_given(self) -> Self:
        if self.uses_timestamp and not any(self.timestamp_columns) and not self.timestamp_mapping:
            key = "timestamp.columns.mapping" if self.include_list else "timestamp.column.name"
            raise ConfigError.invalid(key, "", f"Mode {self.mode} needs the columns with the time of a row's change")
        return self

    @model_validator(mode="after")
    def _deletes_of_tables(self) -> Self:
        if self.delete_scan_interval_ms and self.query:
            raise ConfigError.invalid(
                "delete.scan.interval.ms", self.delete_scan_interval_ms, "A query has no keys to scan: read tables"
            )
        return self

    @property
    def uses_timestamp(self) -> bool:
        """Return whether the mode uses a timestamp."""
        return self.mode in (TIMESTAMP_MODE, BOTH)

    @property
    def uses_incrementing(self) -> bool:
        """Return whether the mode uses an incrementing column."""
        return self.mode in (INCREMENTING, BOTH)

    @property
    def query(self) -> str:
        """Return the query, masked or not; empty where tables are read."""
        return self.given_query.strip() or ("" if self.masked_query is None else self.masked_query.value.strip())

    @property
    def query_key(self) -> str:
        """Return the key that has the query."""
        return "query" if self.given_query.strip() else "query.masked"

    @property
    def shown_query(self) -> str:
        """Return the query as messages may show it."""
        return self.given_query.strip() or "[hidden]"

    @property
    def numeric_mapping(self) -> str:
        """Return the mapping of NUMERIC columns."""
        default = "precision_only" if self.numeric_precision_mapping else "none"
        return default if self.given_numeric_mapping is None else self.given_numeric_mapping.lower()

    @property
    def granularity(self) -> str:
        """Return the granularity of timestamps."""
        return self.given_granularity.lower()

    @property
    def most_rows(self) -> int | None:
        """Most rows of a batch; ``None`` where the user left it to us."""
        return self.batch_max_rows if "batch.max.rows" in self.originals else None

    def database(self) -> Database:
        """Return the database. Raises ConfigError."""
        provider = self.originals.get(_CREDENTIALS_PROVIDER, "DefaultJdbcCredentialsProvider")
        if not provider.endswith("DefaultJdbcCredentialsProvider"):
            raise ConfigError.invalid(
                _CREDENTIALS_PROVIDER,
                provider,
                "Classes of the JVM cannot be loaded; use config providers for connection.user and connection.password",
            )
        quoted = self.quote_identifiers.upper() == "ALWAYS"
        found = Database.of(
            self.url, self.user, self.password, self.originals, dialect=self.dialect_name, quoted=quoted
        )
        return found if self.given_query.strip() else replace(found, hidden=self.query)
