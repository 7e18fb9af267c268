"""Sends records to a topic whose name is made from the one they have (Java: ``RegexRouter``).

transforms=short
transforms.short.type=org.apache.kafka.connect.transforms.RegexRouter
transforms.short.regex=mysql-(.*)
transforms.short.replacement=$1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, cast

from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions import java_patterns as java_settings
from connect_dagster.expressions.java_calls import Regex
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame, SourceFrame


class RegexRouterConfig(ConfigDef):
    """Options of the transform."""

    regex: str = config_key(
        "regex",
        importance=Importance.HIGH,
        validator=java_settings.regex,
        doc="Java regular expression; the topics whose whole name it matches are renamed.",
    )
    replacement: str = config_key(
        "replacement",
        importance=Importance.HIGH,
        doc="What the match becomes; $1 or ${name} stands for a group of the expression.",
    )


class RegexRouter(Transform):
    """Renames the topics that the expression matches as a whole."""

    config_def: ClassVar[type[ConfigDef]] = RegexRouterConfig
    java_class = "org.apache.kafka.connect.transforms.RegexRouter"
    version = KAFKA_VERSION

    def configure(self, config: Mapping[str, str]) -> None:
        """Compile the expression, and have Java validate the replacement."""
        options = RegexRouterConfig.parse(config)
        self._regex = Regex(options.regex)
        self._replacement = options.replacement
        self._refusal = self._regex.refusal(options.replacement)
        self._routes: dict[str, str] = {}

    def apply(self, frame: Frame) -> Frame:
        """Return the frame with new topics; one topic of all records stays one, without a column."""
        topic = frame.column("topic")
        if self._refusal is not None:
            return frame.fail_where(self._regex.matches(topic), self._refusal.message, self._refusal.java_name)
        if isinstance(frame, SourceFrame) and frame.topic is not None:
            return cast("Frame", replace(frame, topic=self._routed(frame.topic)))
        routed = self._regex.replaced(topic, self._replacement)
        return frame.with_column("topic", F.when(self._regex.matches(topic), routed).otherwise(topic))

    def _routed(self, topic: str) -> str:
        if topic not in self._routes:
            matches = self._regex.matches_text(topic)
            self._routes[topic] = self._regex.replaced_text(topic, self._replacement) if matches else topic
        return self._routes[topic]
