"""A signal, and what it may ask for (Debezium: ``SignalRecord``, ``StandardActionProvider``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from connect_dagster.connectors.mysql.positions.gtid import parse_gtid_set
from connect_dagster.connectors.mysql.schema.table_changes import TableChange
from connect_dagster.errors import ConfigError, DataError
from connect_dagster.expressions import java_patterns
from connect_dagster.java.jackson import from_json

COLLECTIONS, CONDITIONS, SURROGATE = "data-collections", "additional-conditions", "surrogate-key"
_COLLECTION, _FILTER, _TYPE = "data-collection", "filter", "type"
_FILE = re.compile(r"[a-zA-Z0-9_-]+\.\d{6}")
_EVERYTHING = ".*"
Kind = TypeVar("Kind")


class BadSignalError(DataError):
    """A signal asks for nothing that can be done."""


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal as it comes.

    Attributes:
        id: any text; ``None`` where the topic of signals has none.
        type: of what is asked for.
        data: JSON text, empty for none.
    """

    id: str | None
    type: str | None
    data: str | None


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition for rows.

    Attributes:
        tables: regular expression, in which case does not matter.
        filter: of SQL.
    """

    tables: str
    filter: str


@dataclass(frozen=True, slots=True)
class ExecuteSnapshot:
    """Tables to read.

    Attributes:
        tables: regular expressions, or names.
        conditions: for rows of some of them; the first that fits a table counts.
        surrogate: column to divide them by, in place of their keys.
    """

    tables: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    surrogate: str | None = None


@dataclass(frozen=True, slots=True)
class StopSnapshot:
    """Tables not to read any further: regular expressions, or names."""

    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PauseSnapshot:
    """A pause."""


@dataclass(frozen=True, slots=True)
class ResumeSnapshot:
    """The end of a pause."""


@dataclass(frozen=True, slots=True)
class LogMessage:
    """A message for the log, with ``{}`` for the present offset."""

    message: str


@dataclass(frozen=True, slots=True)
class ChangeSchema:
    """Changes of tables that the log does not have."""

    database: str
    changes: tuple[TableChange, ...]


@dataclass(frozen=True, slots=True)
class SetPosition:
    """The position at which the next start begins.

    Attributes:
        file: of the log, with the position in it; ``None`` where GTIDs say where.
        gtids: transactions that are done.
    """

    file: str | None = None
    position: int = 0
    gtids: str | None = None


Request = ExecuteSnapshot | StopSnapshot | PauseSnapshot | ResumeSnapshot | LogMessage | ChangeSchema | SetPosition


def request(signal: Signal) -> Request:
    """Return what a signal asks for.

    Raises:
        BadSignalError: its type is not known, or its data lacks something; says what.
    """
    parse = _PARSERS.get(signal.type or "")
    if parse is None:
        raise BadSignalError(f"its type is not one of {', '.join(_PARSERS)}")
    return parse(_data(signal.data))


def _data(text: str | None) -> Mapping[str, Any]:
    if not text:
        return {}
    try:
        data = from_json(text.encode())
    except ValueError as error:
        raise BadSignalError(f"its data is not JSON ({error}): {text}") from error
    if not isinstance(data, dict):
        raise BadSignalError(f"its data is not a JSON object: {text}")
    return data


def _execute(data: Mapping[str, Any]) -> ExecuteSnapshot:
    tables = _expressions(data)
    if not tables:
        raise BadSignalError(f"its data has no {COLLECTIONS}, which must be a list of tables")
    _check_incremental(data)
    conditions = tuple(map(_condition, _of_type(data, CONDITIONS, list) or ()))
    surrogate = (_of_type(data, SURROGATE, str) or "").strip()
    return ExecuteSnapshot(tables, conditions, surrogate or None)


def _stop(data: Mapping[str, Any]) -> StopSnapshot:
    _check_incremental(data)
    return StopSnapshot(_expressions(data) or (_EVERYTHING,))


def _check_incremental(data: Mapping[str, Any]) -> None:
    kind = (_of_type(data, _TYPE, str) or "INCREMENTAL").upper()
    if kind == "BLOCKING":
        raise BadSignalError("blocking snapshots are not supported here: leave the type out, for an incremental one")
    if kind != "INCREMENTAL":
        raise BadSignalError(f"its data has the type {data[_TYPE]!r}, which is not INCREMENTAL")


def _expressions(data: Mapping[str, Any]) -> tuple[str, ...]:
    entries = _of_type(data, COLLECTIONS, list) or []
    if not all(isinstance(entry, str) and entry.strip() for entry in entries):
        raise BadSignalError(f"its {COLLECTIONS} has something else than a text: {entries}")
    return tuple(_regex(COLLECTIONS, entry.strip()) for entry in entries)


def _condition(entry: Any) -> Condition:
    tables, condition = (entry.get(name) for name in (_COLLECTION, _FILTER)) if isinstance(entry, dict) else ("", "")
    if not (isinstance(tables, str) and tables and isinstance(condition, str) and condition.strip()):
        raise BadSignalError(f"one of its {CONDITIONS} lacks {_COLLECTION} or {_FILTER}: {entry}")
    return Condition(_regex(CONDITIONS, tables), condition)


def _regex(name: str, expression: str) -> str:
    try:
        java_patterns.regex(name, expression)
    except ConfigError as error:
        raise BadSignalError(error.message) from error
    return expression


def _log(data: Mapping[str, Any]) -> LogMessage:
    message = _of_type(data, "message", str)
    if not message:
        raise BadSignalError("its data has no message")
    return LogMessage(message)


def _schema_changes(data: Mapping[str, Any]) -> ChangeSchema:
    changes, database = _of_type(data, "changes", list), _of_type(data, "database", str)
    if not changes or not database:
        raise BadSignalError(f"its data has no {'database' if changes else 'changes'}")
    try:
        return ChangeSchema(database, tuple(map(TableChange.parse, changes)))
    except DataError as error:
        raise BadSignalError(str(error)) from error


def _set_position(data: Mapping[str, Any]) -> SetPosition:
    file, position = _of_type(data, "binlog_filename", str), _of_type(data, "binlog_position", int)
    gtids = _of_type(data, "gtid_set", str)
    if bool(gtids) == bool(file or position is not None):
        raise BadSignalError("its data must have either gtid_set, or binlog_filename and binlog_position")
    if gtids:
        try:
            return SetPosition(gtids=str(parse_gtid_set(gtids)))
        except DataError as error:
            raise BadSignalError(f"its gtid_set is not one: {error}") from error
    if file is None or position is None or not _FILE.fullmatch(file) or position < 0:
        raise BadSignalError(
            f"its data must have a file such as binlog.000003 and a position, not {file!r} and {position!r}"
        )
    return SetPosition(file, position)


def _of_type(data: Mapping[str, Any], name: str, kind: type[Kind]) -> Kind | None:
    value = data.get(name)
    if value is None:
        return None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadSignalError(f"its {name} is not a {_KINDS[kind]}: {value!r}")
    return value


_KINDS: Mapping[type, str] = {str: "text", list: "list", int: "number"}
_PARSERS: Mapping[str, Callable[[Mapping[str, Any]], Request]] = {
    "execute-snapshot": _execute,
    "stop-snapshot": _stop,
    "pause-snapshot": lambda _: PauseSnapshot(),
    "resume-snapshot": lambda _: ResumeSnapshot(),
    "log": _log,
    "schema-changes": _schema_changes,
    "set-binlog-position": _set_position,
}


def matching_tables(expression: str, names: Sequence[str], *, any_case: bool = False) -> list[str]:
    """Return the names that an expression of a signal matches as a whole.

    Raises:
        CostlyPatternError: a match takes too long.
    """
    flags = "(?i)" if any_case else ""
    return java_patterns.matching(COLLECTIONS, flags + expression, names)
