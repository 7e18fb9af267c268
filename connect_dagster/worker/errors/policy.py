"""What a connector wants done about records that cannot be handled (``errors.*``, KIP-298)."""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.source import SourceConnectorConfig


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
    def of(cls, config: SinkConnectorConfig | SourceConnectorConfig) -> ErrorPolicy:
        """Return the policy of a connector's configuration."""
        queue = DeadLetterSettings(
            config.dead_letter_topic, config.dead_letter_replication_factor, config.dead_letter_context_headers
        )
        return cls(
            tolerate=config.errors_tolerance == "all",
            retry_timeout_ms=config.errors_retry_timeout,
            retry_delay_max_ms=config.errors_retry_delay_max_ms,
            log=config.errors_log_enable,
            log_messages=config.errors_log_include_messages,
            dead_letters=queue if config.dead_letter_topic else None,
        )

    @property
    def reports(self) -> bool:
        """Whether anybody is told of single records (Java: ``enableErrantRecordReporter``)."""
        return self.log or self.dead_letters is not None
