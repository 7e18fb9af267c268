"""Transforms, one for each thing a transform may do."""

from collections.abc import Mapping

from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame
from connect_dagster.plugin.metrics import MetricGroup, MetricReading, Metrics, Monitorable
from connect_dagster.plugin.schema import STRING_SCHEMA

PLANS = MetricGroup("plugins", "without", ("text",), {"plan-total": "Plans that were made."})


class EditConfig(ConfigDef):
    """Configuration of these transforms."""

    text: str = config_key("text", importance=Importance.HIGH, doc="Text to work with.")


class Edit(Transform):
    """Takes its text."""

    config_def = EditConfig

    def configure(self, config: Mapping[str, str]) -> None:
        self.text = EditConfig.parse(config).text


class Append(Edit):
    """Appends a text to each value."""

    def apply(self, frame: Frame) -> Frame:
        return frame.with_column("value", F.concat(frame.column("value"), F.lit(self.text)))


class Without(Edit, Monitorable):
    """Leaves out values that hold a text, and counts its plans."""

    plans = 0

    def with_plugin_metrics(self, metrics: Metrics) -> None:
        metrics.add(lambda now: [MetricReading(PLANS, (self.text,), {"plan-total": self.plans})])

    def apply(self, frame: Frame) -> Frame:
        self.plans += 1
        return frame.where(~frame.column("value").contains(self.text))


class Route(Edit):
    """Sends records to a topic named after theirs."""

    def apply(self, frame: Frame) -> Frame:
        return frame.with_column("topic", F.concat(frame.column("topic"), F.lit(self.text)))


class KeyFromValue(Edit):
    """Makes the value the key."""

    def apply(self, frame: Frame) -> Frame:
        return frame.with_key(F.concat(F.lit(self.text), frame.column("value")), STRING_SCHEMA)
