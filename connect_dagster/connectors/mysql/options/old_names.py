"""Names and values of options in Debezium 1.x and in tutorials, and what they are called now.

Pure: a configuration in, the same configuration with present names out, with what there is to say about it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from connect_dagster.connectors.mysql.options.connection import SERVER_ID
from connect_dagster.connectors.mysql.options.history import CLASS, KAFKA_HISTORY, PREFIX
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config.table import Properties


class Twice(Enum):
    """Treatment of a configuration that has an old name and the new one."""

    REFUSED = "refused"
    NEW_COUNTS = "the new one counts"


@dataclass(frozen=True, slots=True)
class Now:
    """The present name of an option."""

    name: str
    twice: Twice = Twice.REFUSED


OLD_NAMES: Mapping[str, Now] = {
    "database.server.name": Now("topic.prefix"),
    "database.history": Now(CLASS),
    "database.history.store.only.monitored.tables.ddl": Now(f"{PREFIX}store.only.captured.tables.ddl"),
    "database.whitelist": Now("database.include.list"),
    "database.blacklist": Now("database.exclude.list"),
    "table.whitelist": Now("table.include.list"),
    "table.blacklist": Now("table.exclude.list"),
    "column.whitelist": Now("column.include.list"),
    "column.blacklist": Now("column.exclude.list"),
    "event.deserialization.failure.handling.mode": Now("event.processing.failure.handling.mode", Twice.NEW_COUNTS),
    "heartbeat.topics.prefix": Now("topic.heartbeat.prefix", Twice.NEW_COUNTS),
    "internal.legacy.snapshot.max.threads": Now("legacy.snapshot.max.threads", Twice.NEW_COUNTS),
    f"internal.{PREFIX}ddl.filter": Now(f"{PREFIX}ddl.filter"),
}
OLD_PREFIXES: Mapping[str, str] = {"database.history.": PREFIX}
OLD_VALUES: Mapping[str, Mapping[str, str]] = {
    "snapshot.mode": {"schema_only": "no_data", "schema_only_recovery": "recovery"},
    CLASS: {"io.debezium.relational.history.KafkaDatabaseHistory": KAFKA_HISTORY},
}
MISTAKEN: Mapping[str, str] = {
    "connection.url": "database.hostname, with database.port",
    "connection.hostname": "database.hostname",
    "connection.host": "database.hostname",
    "connection.port": "database.port",
    "connection.user": "database.user",
    "connection.password": "database.password",
    "connection.server.id": SERVER_ID,
}
"""Names that were never Debezium's, with those that are meant."""

_RANDOM_SERVER_IDS = (5400, 6400)


@dataclass(frozen=True, slots=True)
class Renamed:
    """A configuration with present names.

    Attributes:
        properties: without nulls.
        warnings: what was old.
        errors: at the given names: twice the same option, or a name that is another's.
    """

    properties: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    errors: tuple[ConfigError, ...] = ()


def with_present_names(props: Properties, choose: Callable[[int, int], int] = random.randint) -> Renamed:
    """Return a configuration with the names and values of Debezium 3.

    Args:
        props: as the user wrote them.
        choose: returns the ``database.server.id`` of a configuration of 1.x that has none.
    """
    given = {name: value for name, value in props.items() if value is not None}
    old = {name: now for name in given if (now := _now(name)) is not None}
    present = {name: value for name, value in given.items() if name not in old}
    warnings = [*_old_name_warnings(old, given), *_old_value_warnings(given, old)]
    present = {**{now.name: given[name] for name, now in old.items()}, **present}
    present = {name: OLD_VALUES.get(name, {}).get(value.strip(), value) for name, value in present.items()}
    if "database.server.name" in old and SERVER_ID not in present:
        present[SERVER_ID] = str(choose(*_RANDOM_SERVER_IDS))
        warnings.append(f"{SERVER_ID} is missing: {present[SERVER_ID]} is chosen, as in Debezium 1.x; set it")
    return Renamed(present, tuple(warnings), (*_doubled(old, given), *_mistaken(given)))


def _now(name: str) -> Now | None:
    if name in OLD_NAMES:
        return OLD_NAMES[name]
    prefix = next((prefix for prefix in OLD_PREFIXES if name.startswith(prefix)), None)
    return None if prefix is None else Now(OLD_PREFIXES[prefix] + name.removeprefix(prefix))


def _old_name_warnings(old: Mapping[str, Now], given: Mapping[str, str]) -> Iterator[str]:
    for name, now in old.items():
        if now.name in given and now.twice is Twice.NEW_COUNTS:
            yield f"{name} is without effect: {now.name}, its present name, is given as well"
        else:
            yield f"{name} is an old name of {now.name}"


def _old_value_warnings(given: Mapping[str, str], old: Mapping[str, Now]) -> Iterator[str]:
    for name, value in given.items():
        present = old[name].name if name in old else name
        instead = OLD_VALUES.get(present, {}).get(value.strip())
        if instead is not None:
            yield f"{name}={value.strip()} is an old value: it is {instead} now"


def _doubled(old: Mapping[str, Now], given: Mapping[str, str]) -> Iterator[ConfigError]:
    first: dict[str, str] = {}
    for name, now in old.items():
        other = first.setdefault(now.name, name)
        if now.name in given and now.twice is Twice.REFUSED:
            yield _twice(name, now.name, f"{name} and {now.name} are the same option")
        elif other != name:
            yield _twice(name, now.name, f"{name} and {other} are both old names of {now.name}")


def _twice(name: str, now: str, what: str) -> ConfigError:
    return ConfigError(f"Configuration {name} is given twice: {what}. Give {now} alone", name=name)


def _mistaken(given: Mapping[str, str]) -> Iterator[ConfigError]:
    for name in given:
        if name in MISTAKEN:
            yield ConfigError(
                f"Configuration {name} is not an option of this connector: it is {MISTAKEN[name]}", name=name
            )
