"""A source that writes into a journal what its context says, and where its records are in Kafka."""

import json
import time
from pathlib import Path
from typing import Any

from connect_dagster.plugin import (
    ConfigDef,
    MetricGroup,
    MetricReading,
    Password,
    Properties,
    RecordMetadata,
    SourceConnector,
    SourceRecord,
    SourceTask,
    config_key,
)

PLACE = {"box": "a"}
COUNTS = MetricGroup("acknowledging", "acknowledging", ("part",), {"call-total": "Calls of the plugin."})


class AcknowledgingConfig(ConfigDef):
    """Configuration of the connector."""

    topic: str = config_key("topic", doc="Topic of the records.")
    journal: str = config_key("journal", doc="File to append JSON arrays to.")
    singly: int = config_key("singly", default=0, doc="Number of records that are polled one by one instead.")
    password: Password = config_key("password", doc="Comes from a config provider.")


class AcknowledgingTask(SourceTask):
    """Sends four records and waits."""

    def start(self, config: Properties) -> None:
        self.config = AcknowledgingConfig.parse(config)
        self.calls = 0
        self.context.metrics.add(lambda now: [MetricReading(COUNTS, ("task",), {"call-total": self.calls})])
        self.records = [
            SourceRecord(PLACE, {"n": n}, self.config.topic, text, partition=n % 2, timestamp=stamp)
            for n, (text, stamp) in enumerate([("a", 1_700_000_000_000), ("secret", None), ("b", None), ("c", 5)])
            if not self.config.singly
        ]

    def poll(self) -> list[SourceRecord] | None:
        if self.calls < self.config.singly:
            self.calls += 1
            return [SourceRecord(PLACE, {"n": self.calls}, self.config.topic, self.calls)]
        self.calls += 1
        note(self.config.journal, "password", self.context.configs()["password"])
        polled, self.records = self.records, []
        time.sleep(0.1)
        return polled

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        place = metadata and [metadata.topic, metadata.partition, metadata.offset, metadata.timestamp]
        note(self.config.journal, "record", [record.value, record.source_offset, place])
        if record.value == "a":
            raise ValueError("the queue is away")

    def stop(self) -> None:
        """Nothing to close."""


class AcknowledgingConnector(SourceConnector):
    """Its connector notes the committed offset when it is asked for tasks."""

    config_def = AcknowledgingConfig
    task_class = AcknowledgingTask

    def start(self, config: Properties) -> None:
        super().start(config)
        self.context.metrics.add(lambda now: [MetricReading(COUNTS, ("connector",), {"call-total": 1})])

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        note(self.properties["journal"], "offset", self.context.offsets.offset(PLACE))
        note(self.properties["journal"], "offsets", self.context.offsets.offsets([{"box": "b"}, PLACE]))
        return super().task_configs(max_tasks)


def note(journal: str, *items: Any) -> None:
    with Path(journal).open("a") as file:
        file.write(json.dumps(items) + "\n")
