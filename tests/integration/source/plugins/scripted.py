"""A source whose configuration says what goes wrong; it writes into a journal what was called."""

import json
import threading
from pathlib import Path

from connect_dagster.plugin.config import ConfigDef, Importance, at_least, config_key
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask

WATCH_SECONDS = 0.05


class ScriptedConfig(ConfigDef):
    """Configuration of the connector."""

    journal: str = config_key("journal", importance=Importance.HIGH, doc="File to write calls to.")
    failing_task: int = config_key(
        "failing.task", default=-1, importance=Importance.LOW, doc="Task whose start raises."
    )
    number: int = config_key(
        "number", default=1, importance=Importance.LOW, validator=at_least(1), doc="Any from 1 on."
    )
    blocking_stop: bool = config_key(
        "blocking.stop", default=False, importance=Importance.LOW, doc="Whether stop never returns."
    )
    tasks_file: str = config_key(
        "tasks.file",
        default="",
        importance=Importance.LOW,
        doc="JSON file with configurations for tasks; they are asked for anew whenever it changes.",
    )


def note(journal: str, what: str) -> None:
    with Path(journal).open("a") as file:
        file.write(f"{what}\n")


class ScriptedTask(SourceTask):
    """Has no records."""

    def start(self, config: Properties) -> None:
        self.config = config
        self.idle = threading.Event()
        note(config["journal"], f"start {config['task']} {config.get('note', '')}".strip())
        if config["failing.task"] == config["task"]:
            raise ValueError("this task was told to fail")

    def poll(self) -> None:
        self.idle.wait(0.1)

    def stop(self) -> None:
        note(self.config["journal"], f"stop {self.config['task']}")


class ScriptedConnector(SourceConnector):
    """As many tasks as are allowed, or those of a file."""

    config_def = ScriptedConfig
    version = "7.8.9"
    task_class = ScriptedTask

    def start(self, config: Properties) -> None:
        self.config = ScriptedConfig.parse(config)
        self.stopped = threading.Event()
        note(self.config.journal, "start connector")
        if self.config.tasks_file:
            threading.Thread(target=self._watch, args=(Path(self.config.tasks_file),), daemon=True).start()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        note(self.config.journal, "task configs")
        if self.config.tasks_file:
            given = json.loads(Path(self.config.tasks_file).read_text())
        else:
            given = [{} for _ in range(max_tasks)]
        shared = {"journal": self.config.journal, "failing.task": str(self.config.failing_task)}
        return [{**shared, **one, "task": str(number)} for number, one in enumerate(given)]

    def stop(self) -> None:
        self.stopped.set()
        if self.config.blocking_stop:
            threading.Event().wait()

    def _watch(self, file: Path) -> None:
        seen = file.stat().st_mtime_ns
        while not self.stopped.wait(WATCH_SECONDS):
            now = file.stat().st_mtime_ns
            if now != seen:
                seen = now
                self.context.request_task_reconfiguration()
