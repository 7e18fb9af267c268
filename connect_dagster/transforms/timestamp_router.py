"""Sends records to a topic named after the one they have and their time (Java: ``TimestampRouter``).

transforms=daily
transforms.daily.type=org.apache.kafka.connect.transforms.TimestampRouter
transforms.daily.topic.format=${topic}-${timestamp}
transforms.daily.timestamp.format=yyyyMMdd
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.java_calls import JavaRefusalError, SimpleDateFormat
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame

_TOPIC, _TIMESTAMP = "${topic}", "${timestamp}"


class TimestampRouterConfig(ConfigDef):
    """Options of the transform."""

    topic_format: str = config_key(
        "topic.format",
        default=f"{_TOPIC}-{_TIMESTAMP}",
        importance=Importance.HIGH,
        doc=f"The new name; {_TOPIC} and {_TIMESTAMP} stand for the record's topic and its time.",
    )
    timestamp_format: str = config_key(
        "timestamp.format",
        default="yyyyMMdd",
        importance=Importance.HIGH,
        doc="How the time is written, in UTC, as a pattern of java.text.SimpleDateFormat.",
    )


class TimestampRouter(Transform):
    """Makes the topic from topic and timestamp."""

    config_def: ClassVar[type[ConfigDef]] = TimestampRouterConfig
    java_class = "org.apache.kafka.connect.transforms.TimestampRouter"
    version = KAFKA_VERSION
    deterministic = True

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the formats; a wrong one fails the records, as in Java."""
        options = TimestampRouterConfig.parse(config)
        self._topic_format = options.topic_format
        self._format: SimpleDateFormat | JavaRefusalError
        try:
            self._format = SimpleDateFormat(options.timestamp_format)
        except JavaRefusalError as error:
            self._format = error

    def apply(self, frame: Frame) -> Frame:
        """Return the frame with new topics; records without a timestamp fail."""
        timestamp = frame.column("timestamp").cast("long")
        frame = frame.fail_where(timestamp.isNull(), "Timestamp missing on record")
        if isinstance(self._format, JavaRefusalError):
            return frame.fail_where(F.lit(True), self._format.message, self._format.java_name)
        named = F.replace(F.lit(self._topic_format), F.lit(_TOPIC), frame.column("topic"))
        return frame.with_column("topic", F.replace(named, F.lit(_TIMESTAMP), self._format.text(timestamp)))
