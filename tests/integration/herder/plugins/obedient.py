"""A source connector that does what files tell it to, and keeps a journal of its calls.

With `orders=/dir`, while `/dir/block-start` exists `start` does not return, while `/dir/fail-start` exists it fails;
likewise for `stop`, `tasks` (task configurations) and `task` (start of a task). `/dir/journal` gets a line for each
call.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from connect_dagster.plugin.config import ConfigDef, config_key
from connect_dagster.plugin.connector import SourceConnector, SourceTask


class ObedientConfig(ConfigDef):
    orders: str = config_key("orders", doc="Folder with orders.")
    task_count: int = config_key("task.count", default=1, doc="How many tasks it makes, whatever it may.")


class Orders:
    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def obey(self, call: str, who: str) -> None:
        with (self._folder / "journal").open("a") as journal:
            journal.write(f"{who} {call}\n")
        while (self._folder / f"block-{call}").exists():
            time.sleep(0.02)
        if (self._folder / f"fail-{call}").exists():
            raise RuntimeError(f"ordered to fail in {call}")


class ObedientTask(SourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        Orders(config["orders"]).obey("task", f"task {config['number']}")

    def poll(self) -> None:
        time.sleep(0.1)

    def stop(self) -> None:
        """Nothing is open."""


class Obedient(SourceConnector):
    config_def: ClassVar[type[ConfigDef]] = ObedientConfig
    version = "0.1"

    @property
    def task_class(self) -> type[SourceTask]:
        return ObedientTask

    def start(self, config: Mapping[str, str]) -> None:
        self._config = ObedientConfig.parse(config)
        self._orders = Orders(self._config.orders)
        self._orders.obey("start", "connector")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        self._orders.obey("tasks", "connector")
        return [{"orders": self._config.orders, "number": str(n)} for n in range(self._config.task_count)]

    def stop(self) -> None:
        self._orders.obey("stop", "connector")
