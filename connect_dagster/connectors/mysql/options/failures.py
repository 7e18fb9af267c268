"""Options of what happens with events that cannot be read, and with connections that are lost."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from connect_dagster.backoff import Backoff
from connect_dagster.connectors.mysql.options.checks import choice
from connect_dagster.errors import ConnectError
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

log = logging.getLogger(__name__)

FAILURES = "Failures"
PROCESSING, SCHEMA, CONVERTING = (
    "event.processing.failure.handling.mode",
    "inconsistent.schema.handling.mode",
    "event.converting.failure.handling.mode",
)
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
class FailureRule:
    """The reaction to something that cannot be read.

    Attributes:
        option: that decides on it.
        mode: its value.
        effect: of the other modes than ``fail``.
    """

    option: str
    mode: FailureMode
    effect: str

    def apply(self, text: str, cause: Exception | None = None) -> None:
        """Raise, or log.

        Args:
            text: that says what cannot be read, and where it is.
            cause: the error.

        Raises:
            ConnectError: the mode is ``fail``.
        """
        if self.mode is FailureMode.FAIL:
            raise ConnectError(f"{text}. With {self.option}=warn {self.effect}") from cause
        log.log(logging.WARNING if self.mode is FailureMode.WARN else logging.DEBUG, "%s: %s", text, self.effect)


@dataclass(frozen=True, slots=True)
class FailureRules:
    """The reactions to what cannot be read.

    Attributes:
        events: bytes that are not what their table says.
        schemas: tables whose structure is not known as the log has it.
        values: those that their columns' types do not allow.
    """

    events: FailureRule = FailureRule(PROCESSING, FailureMode.FAIL, "it is left out")
    schemas: FailureRule = FailureRule(SCHEMA, FailureMode.FAIL, "they are left out")
    values: FailureRule = FailureRule(
        CONVERTING, FailureMode.WARN, "it becomes null; where that is not allowed the default value, or 1970-01-01"
    )


DEFAULT_RULES = FailureRules()
"""The reactions of a connector at its defaults."""


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
            PROCESSING,
            default=FailureMode.FAIL.value,
            validator=choice(_EventMode),
            display_name="Event deserialization failure handling",
            doc="What happens with an event that cannot be decoded: 'fail' ends the task, 'warn' logs its position and "
            "goes on, 'skip' and 'ignore' go on.",
        )
        schema_mode: str = config_key(
            SCHEMA,
            default=FailureMode.FAIL.value,
            validator=choice(_EventMode),
            display_name="Inconsistent schema failure handling",
            doc="The same for an event of a table whose structure is not known or is another one.",
        )
        converting_mode: str = config_key(
            CONVERTING,
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
    def failures(self) -> FailureRules:
        """Return the reactions to what cannot be read."""
        rules = DEFAULT_RULES
        return FailureRules(
            replace(rules.events, mode=_MODES[self.processing_mode.lower()]),
            replace(rules.schemas, mode=_MODES[self.schema_mode.lower()]),
            replace(rules.values, mode=_MODES[self.converting_mode.lower()]),
        )

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
