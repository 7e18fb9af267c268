"""Options of what happens with events that cannot be read, and with connections that are lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from connect_dagster.backoff import Backoff
from connect_dagster.connectors.mysql.options.checks import choice
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Type,
    Width,
    at_least,
    config_group,
    config_key,
    parse_value,
)

FAILURES = "Failures"
FRAMEWORK_DELAY, _LONGEST_DELAY = "errors.retry.delay.max.ms", "retriable.restart.connector.wait.ms"


class FailureMode(Enum):
    """Reactions to an event that cannot be read."""

    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"


class _EventMode(Enum):
    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"
    IGNORE = "ignore"


_MODES: Mapping[str, FailureMode] = {
    "fail": FailureMode.FAIL,
    "warn": FailureMode.WARN,
    "skip": FailureMode.SKIP,
    "ignore": FailureMode.SKIP,
}


@dataclass(frozen=True, slots=True)
class Reconnects:
    """How often, and after which time, a lost connection is made again.

    Attributes:
        most: consecutive attempts; ``None`` for no limit.
        backoff: delays in seconds.
    """

    most: int | None
    backoff: Backoff

    def delay(self, attempt: int) -> float | None:
        """Return the seconds before the ``attempt``-th consecutive attempt, counted from 1; ``None`` to give up."""
        return None if self.most is not None and attempt > self.most else self.backoff.delay(attempt)


class FailureOptions(ConfigDef):
    """Events that cannot be read, and connections that are lost."""

    with config_group(FAILURES, importance=Importance.MEDIUM, width=Width.SHORT):
        processing_mode: str = config_key(
            "event.processing.failure.handling.mode",
            default=FailureMode.FAIL.value,
            validator=choice(_EventMode),
            display_name="Event deserialization failure handling",
            doc="What happens with an event that cannot be decoded: 'fail' ends the task, 'warn' logs its position and "
            "goes on, 'skip' and 'ignore' go on.",
        )
        schema_mode: str = config_key(
            "inconsistent.schema.handling.mode",
            default=FailureMode.FAIL.value,
            validator=choice(_EventMode),
            display_name="Inconsistent schema failure handling",
            doc="The same for an event of a table whose structure is not known or is another one.",
        )
        converting_mode: str = config_key(
            "event.converting.failure.handling.mode",
            default=FailureMode.WARN.value,
            validator=choice(FailureMode),
            display_name="Event converting failure handling",
            doc="The same for a value that its column's schema does not allow: 'warn' and 'skip' send null.",
        )
        max_retries: int = config_key(
            "errors.max.retries",
            default=-1,
            importance=Importance.LOW,
            width=Width.MEDIUM,
            display_name="The maximum number of retries",
            doc="How often in a row a lost connection is made again before the task fails; a negative number for no "
            "limit.",
        )
        first_delay_ms: int = config_key(
            "errors.retry.delay.initial.ms",
            type=Type.LONG,
            default=300,
            importance=Importance.LOW,
            validator=at_least(1),
            display_name="First retry delay (ms)",
            doc="Time before the first of these attempts; it doubles from one to the next.",
        )
        longest_delay_ms: int = config_key(
            _LONGEST_DELAY,
            type=Type.LONG,
            default=10_000,
            importance=Importance.LOW,
            validator=at_least(1),
            width=Width.MEDIUM,
            display_name="Retriable restart wait (ms)",
            doc="Longest time between two attempts. Left out, errors.retry.delay.max.ms is, where that is given.",
        )

    @property
    def of_processing(self) -> FailureMode:
        """Return what happens with events that cannot be decoded."""
        return _MODES[self.processing_mode.lower()]

    @property
    def of_schema(self) -> FailureMode:
        """Return what happens with events whose table is not known as it is in them."""
        return _MODES[self.schema_mode.lower()]

    @property
    def of_converting(self) -> FailureMode:
        """Return what happens with values that do not fit their schemas."""
        return _MODES[self.converting_mode.lower()]

    @property
    def reconnects(self) -> Reconnects:
        """Return how lost connections are made again."""
        longest = max(self.first_delay_ms, self._longest_delay_ms)
        most = None if self.max_retries < 0 else self.max_retries
        return Reconnects(most, Backoff(self.first_delay_ms / 1000, longest / 1000))

    @property
    def _longest_delay_ms(self) -> int:
        """Return the time of the option, or that of the framework's if only that is given."""
        given = self.originals.get(FRAMEWORK_DELAY)
        if given is None or _LONGEST_DELAY in self.originals:
            return self.longest_delay_ms
        return int(parse_value(FRAMEWORK_DELAY, given, Type.LONG))
