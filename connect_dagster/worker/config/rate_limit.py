"""Keys that limit the rate of a connector; Java has none, so that a connector without them has Java's keys alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigDef,
    ConfigKey,
    Importance,
    Type,
    Width,
    at_least,
    config_group,
    config_key,
)
from connect_dagster.plugin.config.table import Properties
from connect_dagster.plugin.rate import Rate
from connect_dagster.worker.config.connector import or_null

RATE_LIMIT = "Rate Limit"
_PREFIX = "rate.limit."


class RateLimitConfig(ConfigDef):
    """Limits of a connector, which its tasks share evenly."""

    with config_group(RATE_LIMIT, importance=Importance.LOW, width=Width.SHORT):
        records_per_second: int | None = config_key(
            "rate.limit.records.per.second",
            type=Type.LONG,
            default=None,
            validator=or_null(at_least(1)),
            display_name="Records per second",
            doc="Most records a second that the connector moves, all of its tasks together: each has an equal share. "
            "Of a source those are counted that are sent, of a sink those that are read. Unset, the connector is not "
            "limited. Java's workers have no such option and ignore it.",
        )
        bytes_per_second: int | None = config_key(
            "rate.limit.bytes.per.second",
            type=Type.LONG,
            default=None,
            validator=or_null(at_least(1)),
            display_name="Bytes per second",
            doc="Most bytes of keys and values in Kafka a second, before compression, as "
            "rate.limit.records.per.second.",
        )

    def share(self, tasks: int) -> Rate:
        """Return the rate of one task, from the number of all."""
        most = (self.records_per_second, self.bytes_per_second)
        records, bytes = (math.inf if one is None else one / max(1, tasks) for one in most)
        return Rate(records, bytes)


def rate_limit_keys(config: Mapping[str, object]) -> Iterator[ConfigKey]:
    """Yield the keys of a connector that has any of them, and one that is always wrong for each misspelt name."""
    given = [name for name in config if name.startswith(_PREFIX)]
    if not given:
        return
    table = RateLimitConfig.table()
    yield from table
    for name in given:
        if name not in table:
            yield ConfigKey(name, Type.STRING, default=None, validator=_unknown, group=RATE_LIMIT)


def _unknown(name: str, value: Any) -> None:
    if value is None:
        return
    known = " or ".join(key.name for key in RateLimitConfig.table())
    raise ConfigError.invalid(name, value, f"This limit does not exist: use {known}")


def rate_of(config: Properties, tasks: int) -> Rate:
    """Return the rate of a connector's task, from the number of all. Raises ConfigError for a wrong value."""
    return RateLimitConfig.parse(config).share(tasks)
