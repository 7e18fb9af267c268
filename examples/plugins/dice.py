"""Source connector that rolls a die once a second. Put the folder of this file on ``plugin.path``."""

import random
import time

from connect_dagster.plugin import (
    ConfigDef,
    Importance,
    Properties,
    SourceConnector,
    SourceRecord,
    SourceTask,
    config_key,
)


class DiceConfig(ConfigDef):
    """Configuration of the connector."""

    topic: str = config_key("topic", importance=Importance.HIGH, doc="Topic that receives the rolls.")


class DiceTask(SourceTask):
    """Rolls the die; the offset is the number of rolls, so that a restart goes on counting."""

    def start(self, config: Properties) -> None:
        """Go on from the last committed offset."""
        self.topic = config["topic"]
        self.rolls = (self.context.offsets.offset({"die": "white"}) or {"rolls": 0})["rolls"]

    def poll(self) -> list[SourceRecord]:
        """Return one roll a second."""
        time.sleep(1)
        self.rolls += 1
        roll = {"roll": self.rolls, "pips": random.randint(1, 6)}
        return [SourceRecord({"die": "white"}, {"rolls": self.rolls}, self.topic, roll)]

    def stop(self) -> None:
        """Nothing to close."""


class DiceConnector(SourceConnector):
    """Runs one task, for one die."""

    config_def = DiceConfig
    task_class = DiceTask
