"""A source whose tasks count: record n of task t is the text `t:n`; a journal gets a line for each start and stop.

Without a topic its tasks have nothing to send.
"""

import threading
from pathlib import Path

from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask
from connect_dagster.plugin.records import SourceRecord
from connect_dagster.plugin.schema import STRING_SCHEMA

RECORD_SECONDS = 0.1


class CountingConfig(ConfigDef):
    """Configuration of the connector."""

    journal: str = config_key("journal", importance=Importance.HIGH, doc="File to write calls to.")
    topic: str = config_key("topic", default="", importance=Importance.LOW, doc="Topic of the records.")


class CountingTask(SourceTask):
    """Goes on where its last committed record was."""

    def start(self, config: Properties) -> None:
        self.config = CountingConfig.parse(config)
        self.number = config["task"]
        self.ending = threading.Event()
        self.place = {"connector": config["name"], "task": self.number}
        committed = self.context.offsets.offset(self.place)
        self.next = 0 if committed is None else committed["n"] + 1
        self._note("start")

    def poll(self) -> list[SourceRecord] | None:
        self.ending.wait(RECORD_SECONDS)
        if not self.config.topic or self.ending.is_set():
            return None
        n, self.next = self.next, self.next + 1
        return [SourceRecord(self.place, {"n": n}, self.config.topic, f"{self.number}:{n}", STRING_SCHEMA)]

    def stop(self) -> None:
        self.ending.set()
        self._note("stop")

    def _note(self, what: str) -> None:
        with Path(self.config.journal).open("a") as journal:
            journal.write(f"{what} {self.number}\n")


class CountingConnector(SourceConnector):
    """As many tasks as it may."""

    config_def = CountingConfig
    task_class = CountingTask

    def start(self, config: Properties) -> None:
        self.config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self.config, "task": str(number)} for number in range(max_tasks)]
