"""The error handling of a connector (``errors.*``, KIP-298)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a task has been given its policy, and imports no configuration of connectors
    from connect_dagster.worker.config.sink import SinkConnectorConfig
    from connect_dagster.worker.config.source import SourceConnectorConfig


@dataclass(frozen=True, slots=True)
class DeadLetterSettings:
    """The dead letter queue of a connector.

    Attributes:
        topic: its topic.
        replication_factor: of a topic that the task creates.
        context_headers: whether records get headers with their origin and error.
    """

    topic: str
    replication_factor: int = 3
    context_headers: bool = False


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """A connector's ``errors.*`` settings.

    Attributes:
        tolerate: whether a failed record is skipped; otherwise it fails the task.
        retry_timeout_ms: how long a failed operation is retried; -1 retries forever.
        retry_delay_max_ms: longest delay between two attempts.
        log: whether each failed record is logged.
        log_messages: whether the log shows the record.
        dead_letters: the dead letter queue; ``None`` for none.
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
        """Return whether failed records are logged or dead letters (Java: ``enableErrantRecordReporter``)."""
        return self.log or self.dead_letters is not None
