"""The worker's side of ``SinkTaskContext``: keeps requests of the task until its current call returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from connect_dagster.plugin.connector import ErrantRecordReporter, Properties
from connect_dagster.plugin.metrics import Metrics
from connect_dagster.plugin.records import TopicPartition


@dataclass(slots=True)
class SinkContext:
    """Requests of one sink task.

    Attributes:
        configs: returns the task's configuration as it is now.
    """

    spark: SparkSession
    configs: Callable[[], Properties]
    metrics: Metrics
    assignment: frozenset[TopicPartition] = frozenset()
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    paused: set[TopicPartition] = field(default_factory=set)
    rewound: dict[TopicPartition, int] = field(default_factory=dict)
    timeout_ms: int | None = None
    commit_requested: bool = False
    errant_record_reporter: ErrantRecordReporter | None = None

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Rewind before the next ``put``."""
        self.rewound.update(offsets)

    def timeout(self, milliseconds: int) -> None:
        """Set the delay before the batch is put again after a RetriableError."""
        self.timeout_ms = milliseconds

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop reading these partitions."""
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Read these partitions again."""
        self.paused.difference_update(partitions)

    def request_commit(self) -> None:
        """Request a commit after this ``put``."""
        self.commit_requested = True

    def assigned(self, partitions: frozenset[TopicPartition]) -> None:
        """Set the partitions of the task, and drop requests about others."""
        self.assignment = partitions
        self.paused.intersection_update(partitions)
        self.drop_rewound(self.rewound.keys() - partitions)

    def drop_rewound(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop requests to rewind these partitions."""
        for partition in partitions:
            self.rewound.pop(partition, None)

    def take_rewound(self) -> dict[TopicPartition, int]:
        """Return and clear the offsets to rewind to."""
        rewound, self.rewound = self.rewound, {}
        return rewound

    def take_timeout(self, default: int) -> float:
        """Return the seconds to wait before the next attempt, and clear the delay that the task has set."""
        milliseconds, self.timeout_ms = self.timeout_ms, None
        return (default if milliseconds is None else milliseconds) / 1000

    def take_commit_requested(self) -> bool:
        """Return and clear whether the task has requested a commit."""
        if not self.commit_requested:  # a thread of the task may request one right now
            return False
        self.commit_requested = False
        return True
