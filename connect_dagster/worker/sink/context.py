"""What a sink task may ask of its worker; the worker carries it out after the call in which it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from connect_dagster.plugin.connector import ErrantRecordReporter
from connect_dagster.plugin.records import TopicPartition


@dataclass(slots=True)
class SinkContext:
    """The worker's side of ``SinkTaskContext``."""

    spark: SparkSession
    assignment: frozenset[TopicPartition] = frozenset()
    paused: set[TopicPartition] = field(default_factory=set)
    rewound: dict[TopicPartition, int] = field(default_factory=dict)
    timeout_ms: int | None = None
    commit_requested: bool = False
    errant_record_reporter: ErrantRecordReporter | None = None

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Rewind before the next ``put``."""
        self.rewound.update(offsets)

    def timeout(self, milliseconds: int) -> None:
        """Time to wait before the batch comes again after a RetriableError."""
        self.timeout_ms = milliseconds

    def pause(self, *partitions: TopicPartition) -> None:
        """Have no records of these partitions."""
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Have records of these partitions again."""
        self.paused.difference_update(partitions)

    def request_commit(self) -> None:
        """Have offsets committed after this ``put``."""
        self.commit_requested = True

    def assigned(self, places: frozenset[TopicPartition]) -> None:
        """Take the partitions of the task; what was asked about others is forgotten."""
        self.assignment = places
        self.paused.intersection_update(places)
        self.rewound = {place: offset for place, offset in self.rewound.items() if place in places}

    def take_rewound(self) -> dict[TopicPartition, int]:
        """The offsets to go back to; asks for them only once."""
        rewound, self.rewound = self.rewound, {}
        return rewound

    def take_timeout(self, default: int) -> float:
        """Seconds to wait for the next try; what the task asked for counts once."""
        milliseconds, self.timeout_ms = self.timeout_ms, None
        return (default if milliseconds is None else milliseconds) / 1000

    def take_commit_requested(self) -> bool:
        """Whether the task asked for a commit since the last time."""
        if not self.commit_requested:  # a thread of the task may be just asking
            return False
        self.commit_requested = False
        return True
