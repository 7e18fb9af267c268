"""A source of numbered records, up to the number that a file names, and a sink that appends their texts to a file."""

import os
import threading
from pathlib import Path

from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.connector import Properties, SinkConnector, SinkTask, SourceConnector, SourceTask
from connect_dagster.plugin.frames import SinkBatch
from connect_dagster.plugin.records import SourceRecord
from connect_dagster.plugin.schema import STRING_SCHEMA

PARTS = 4
POLL_SECONDS = 0.1
MOST_RECORDS = 500


class NumberedSourceConfig(ConfigDef):
    """Configuration of the source."""

    upto: str = config_key("upto", importance=Importance.HIGH, doc="File with how many records there are.")
    topic: str = config_key("topic", importance=Importance.HIGH, doc="Topic of the records.")
    parts: str = config_key("parts", default="", importance=Importance.LOW, doc="Remainders of a task's numbers.")


class NumberedSourceTask(SourceTask):
    """Sends the numbers whose remainders by `PARTS` are the task's; each remainder is a source partition."""

    def start(self, config: Properties) -> None:
        self.config = NumberedSourceConfig.parse(config)
        self.ending = threading.Event()
        self.following: dict[int, int] = {}
        for part in map(int, self.config.parts.split()):
            offset = self.context.offsets.offset({"part": str(part)})
            self.following[part] = part if offset is None else offset["n"] + PARTS

    def poll(self) -> list[SourceRecord] | None:
        end = int(Path(self.config.upto).read_text())
        records = [self._record(part) for part in self.following for _ in range(MOST_RECORDS) if self._has(part, end)]
        if not records:
            self.ending.wait(POLL_SECONDS)
        return records or None

    def stop(self) -> None:
        self.ending.set()

    def _has(self, part: int, end: int) -> bool:
        return self.following[part] < end

    def _record(self, part: int) -> SourceRecord:
        number = self.following[part]
        self.following[part] += PARTS
        return SourceRecord({"part": str(part)}, {"n": number}, self.config.topic, f"n{number:012d};", STRING_SCHEMA)


class NumberedSource(SourceConnector):
    """Deals the remainders to its tasks."""

    config_def = NumberedSourceConfig
    task_class = NumberedSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        count = min(max_tasks, PARTS)
        return [
            {**self.properties, "parts": " ".join(str(part) for part in range(PARTS) if part % count == task)}
            for task in range(count)
        ]


class NumberedSinkConfig(ConfigDef):
    """Configuration of the sink."""

    file: str = config_key("file", importance=Importance.HIGH, doc="File to append to.")


class NumberedSinkTask(SinkTask):
    """Appends each batch by one call of the system, so that tasks that share the file tear no line."""

    needs_headers = False

    def start(self, config: Properties) -> None:
        file = NumberedSinkConfig.parse(config).file
        self.descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def put(self, batch: SinkBatch) -> None:
        text = "".join(f"{record.value}\n" for record in batch.records()).encode()
        while text:
            text = text[os.write(self.descriptor, text) :]

    def stop(self) -> None:
        os.close(self.descriptor)


class NumberedSink(SinkConnector):
    """Has as many tasks as it may."""

    config_def = NumberedSinkConfig
    task_class = NumberedSinkTask
