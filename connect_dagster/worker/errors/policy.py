"""What a connector wants done about records that cannot be handled (``errors.*``, KIP-298)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect_dagster.plugin.config import Type, parse_value

DEAD_LETTER_TOPIC = "errors.deadletterqueue.topic.name"
DEAD_LETTER_REPLICATION = "errors.deadletterqueue.topic.replication.factor"
DEAD_LETTER_HEADERS = "errors.deadletterqueue.context.headers.enable"


@dataclass(frozen=True, slots=True)
class DeadLetterSettings:
    """Where records go that could not be handled.

    Attributes:
        topic: its name.
        replication_factor: when it has to be created.
        context_headers: whether records get headers that tell what went wrong.
    """

    topic: str
    replication_factor: int = 3
    context_headers: bool = False


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """A connector's ``errors.*`` settings.

    Attributes:
        tolerate: whether a record that cannot be handled is left out; otherwise it ends the task.
        retry_timeout_ms: how long a failed operation is tried again; -1 for ever.
        retry_delay_max_ms: longest time between two tries.
        log: whether each such record is logged.
        log_messages: whether the log shows the record.
        dead_letters: the topic for such records; ``None`` for none.
    """

    tolerate: bool = False
    retry_timeout_ms: int = 0
    retry_delay_max_ms: int = 60_000
    log: bool = False
    log_messages: bool = False
    dead_letters: DeadLetterSettings | None = None

    @classmethod
    def of(cls, connector: Mapping[str, str]) -> ErrorPolicy:
        """The settings in a connector's configuration.

        Raises:
            ConfigError: a value is wrong.
        """

        def value(name: str, type: Type, default: str) -> Any:
            return parse_value(name, connector.get(name, default), type)

        topic = connector.get(DEAD_LETTER_TOPIC, "").strip()
        queue = DeadLetterSettings(
            topic, value(DEAD_LETTER_REPLICATION, Type.SHORT, "3"), value(DEAD_LETTER_HEADERS, Type.BOOLEAN, "false")
        )
        return cls(
            tolerate=value("errors.tolerance", Type.STRING, "none") == "all",
            retry_timeout_ms=value("errors.retry.timeout", Type.LONG, "0"),
            retry_delay_max_ms=value("errors.retry.delay.max.ms", Type.LONG, "60000"),
            log=value("errors.log.enable", Type.BOOLEAN, "false"),
            log_messages=value("errors.log.include.messages", Type.BOOLEAN, "false"),
            dead_letters=queue if topic else None,
        )

    @property
    def reports(self) -> bool:
        """Whether anybody is told of single records (Java: ``enableErrantRecordReporter``)."""
        return self.log or self.dead_letters is not None
