"""A source connector of one's own: a die, rolled once a second. Put the folder of this file on ``plugin.path``."""

import random
import time

from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask
from connect_dagster.plugin.records import SourceRecord


class DiceConfig(ConfigDef):
    """Configuration of the connector."""

    topic: str = config_key("topic", importance=Importance.HIGH, doc="Topic that receives the rolls.")


class DiceTask(SourceTask):
    """Rolls the die; its offset is how often it was rolled, so that a restart goes on counting."""

    def start(self, config: Properties) -> None:
        """Go on from the last committed offset."""
        self.topic = config["topic"]
        self.rolls = (self.context.offsets.offset({"die": "white"}) or {"rolls": 0})["rolls"]

    def poll(self) -> list[SourceRecord]:
        """One roll a second."""
        time.sleep(1)
        self.rolls += 1
        roll = {"roll": self.rolls, "pips": random.randint(1, 6)}
        return [SourceRecord({"die": "white"}, {"rolls": self.rolls}, self.topic, roll)]

    def stop(self) -> None:
        """Nothing to close."""


class DiceConnector(SourceConnector):
    """One die, one task."""

    config_def = DiceConfig
    task_class = DiceTask
