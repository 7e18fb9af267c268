"""A sink that records its calls and fails on request, for tests of workers and of converters.

    connector.class=connect_dagster.testing.recording_sink.RecordingSinkConnector
    topics=orders
    journal=/tmp/calls.jsonl
    on.put=ok; retry 500; fail the disk is full

The journal has one JSON object for each call, written before anything is done. What the script says is counted by
the journal's lines, so a task that is started again continues in it (see ``sink_script`` for the words).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.connector import Properties, SinkConnector, SinkTask
from connect_dagster.plugin.frames import SinkBatch
from connect_dagster.plugin.records import SinkRecord, TopicPartition
from connect_dagster.testing import sink_script

_TASK = "task.number"


class RecordingSinkConfig(ConfigDef):
    """Configuration of the sink; ``on.<call>`` may be set for each call of a task."""

    journal: str = config_key(
        "journal", importance=Importance.HIGH, doc="File to append a JSON object to for each call."
    )


class RecordingSinkTask(SinkTask):
    """Record the calls and follow the script."""

    def start(self, config: Properties) -> None:
        """Find the current place in the script."""
        self._config = config
        self._journal = Path(RecordingSinkConfig.parse(config).journal)
        self._number = int(config[_TASK])
        self._calls: dict[str, int] = {}
        for call in read_journal(self._journal):
            if call["task"] == self._number:
                self._calls[call["call"]] = self._calls.get(call["call"], 0) + 1
        self._called("start")

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        """Write the call down."""
        self._called("open", partitions=_listed(partitions))

    def put(self, batch: SinkBatch) -> None:
        """Write the records down; the list of them is emptied afterwards, as a task may do."""
        records = batch.records()
        try:
            self._called("put", records=[_record(one) for one in records])
        finally:
            records.clear()

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        """Write the call down; all offsets may be committed."""
        self._called("pre_commit", offsets={str(place): offset for place, offset in offsets.items()})
        return super().pre_commit(offsets)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Write the call down."""
        self._called("flush")

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        """Write the call down."""
        self._called("close", partitions=_listed(partitions))

    def stop(self) -> None:
        """Write the call down."""
        self._called("stop")

    def _called(self, name: str, **details: Any) -> None:
        count = self._calls.get(name, 0)
        self._calls[name] = count + 1
        does = sink_script.entry(self._config.get(f"on.{name}", ""), count)
        call = {"task": self._number, "call": name, "does": does, **details}
        self._write({**call, "thread": threading.current_thread().name, "time": time.time()})
        sink_script.perform(does, self.context)

    def _write(self, call: Mapping[str, Any]) -> None:
        with self._journal.open("a") as journal:
            journal.write(json.dumps(call, default=str) + "\n")


class RecordingSinkConnector(SinkConnector):
    """Return as many tasks as requested, with one journal."""

    config_def = RecordingSinkConfig
    version: ClassVar[str] = "1.0"
    task_class = RecordingSinkTask

    def start(self, config: Properties) -> None:
        """Keep the configuration for the tasks."""
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the configuration with a number for each task."""
        return [{**self._config, _TASK: str(number)} for number in range(max_tasks)]


def read_journal(journal: Path) -> list[dict[str, Any]]:
    """Return the calls of a journal in the order of their begin; an unfinished last line is left out."""
    if not journal.exists():
        return []
    return [json.loads(line) for line in journal.read_text().splitlines(keepends=True) if line.endswith("\n")]


def _listed(partitions: Iterable[TopicPartition]) -> list[str]:
    return sorted(map(str, partitions))


def _record(record: SinkRecord) -> dict[str, Any]:
    place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    return {**place, "key": record.key, "value": record.value}
