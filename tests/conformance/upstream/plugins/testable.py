"""Twins of the suite's two test connectors, under the names by which its tests configure them.

They do what can be seen from outside: records, offsets, failures on request. The originals also tell a handle in the
JVM of the suite about each call; tests that wait for such a handle cannot run with a worker outside.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.connector import Properties, SinkConnector, SinkTask, SourceConnector, SourceTask
from connect_dagster.plugin.frames import SinkBatch
from connect_dagster.plugin.records import Header, SourceRecord, TopicPartition
from connect_dagster.plugin.schema import STRING_SCHEMA

PACKAGE = "org.apache.kafka.connect.integration"
IDLE_SECONDS = 0.1


class NothingConfig(ConfigDef):
    """Neither connector describes its keys."""


def wanted(config: Properties, key: str) -> bool:
    """Whether a key is there and says true."""
    return config.get(key, "").lower() == "true"


def fail_if(config: Properties, key: str) -> None:
    if wanted(config, key):
        raise RuntimeError(f"Injecting errors: {key}")


class TestableSourceTask(SourceTask):
    """Makes numbered records, as fast as it may."""

    def start(self, config: Properties) -> None:
        self.task_id = config["task.id"]
        self.topic = config.get("topic", "sequential-topic")
        self.batch = int(config.get("messages.per.poll", "1"))
        self.rate = float(config.get("throughput", "-1"))
        self.last = int(config.get("max.messages", str(2**63 - 1)))
        saved = self.context.offsets.offset({"task.id": self.task_id})
        self.first = self.number = int(saved["saved"]) if saved else 0
        self.started = time.monotonic()
        fail_if(config, f"task-{self.task_id}.start.inject.error")

    def poll(self) -> list[SourceRecord] | None:
        if self.number >= self.last or self._is_ahead():
            time.sleep(IDLE_SECONDS)
            return None
        numbers = range(self.number + 1, min(self.number + self.batch, self.last) + 1)
        self.number = numbers[-1]
        return [self._record(number) for number in numbers]

    def stop(self) -> None:
        """Nothing to close."""

    def _is_ahead(self) -> bool:
        return self.rate > 0 and self.number - self.first > self.rate * (time.monotonic() - self.started)

    def _record(self, number: int) -> SourceRecord:
        return SourceRecord(
            {"task.id": self.task_id},
            {"saved": number},
            self.topic,
            f"value-{self.task_id}-{number}",
            STRING_SCHEMA,
            key=f"key-{self.task_id}-{number}",
            key_schema=STRING_SCHEMA,
            headers=(Header(f"header-{number}", str(number).encode()),),
        )


class TestableSourceConnector(SourceConnector):
    """As many tasks as it is told."""

    config_def = NothingConfig
    java_class = f"{PACKAGE}.TestableSourceConnector"
    java_task_class = f"{PACKAGE}.TestableSourceConnector$TestableSourceTask"
    task_class = TestableSourceTask

    def start(self, config: Properties) -> None:
        self.config = dict(config)
        fail_if(config, "connector.start.inject.error")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return numbered(self.config, int(self.config.get("num.tasks", max_tasks)))

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        return wanted(config, "alter.offsets.result")

    def stop(self) -> None:
        fail_if(self.config, "connector.stop.inject.error")


class TestableSinkTask(SinkTask):
    """Takes everything."""

    def start(self, config: Properties) -> None:
        """Nothing to open."""

    def put(self, batch: SinkBatch) -> None:
        """Nothing to write."""

    def stop(self) -> None:
        """Nothing to close."""


class TestableSinkConnector(SinkConnector):
    """As many tasks as there may be."""

    config_def = NothingConfig
    java_class = f"{PACKAGE}.TestableSinkConnector"
    java_task_class = f"{PACKAGE}.TestableSinkConnector$TestableSinkTask"
    task_class = TestableSinkTask

    def start(self, config: Properties) -> None:
        self.config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return numbered(self.config, max_tasks)

    def alter_offsets(self, config: Properties, offsets: Mapping[TopicPartition, int | None]) -> bool:
        return wanted(config, "alter.offsets.result")


def numbered(config: Mapping[str, str], count: int) -> list[dict[str, str]]:
    """Task configurations that tell each task its name."""
    name = config["name"]
    return [{**config, "connector.name": name, "task.id": f"{name}-{number}"} for number in range(count)]
