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

from connect_dagster.expressions import java_patterns
from connect_dagster.expressions.java_patterns import Regex, replacement_refusal
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame, SourceFrame


class RegexRouterConfig(ConfigDef):
    """Options of the transform."""

    regex: str = config_key(
        "regex",
        importance=Importance.HIGH,
        validator=java_patterns.regex,
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
    deterministic = True

    def configure(self, config: Mapping[str, str]) -> None:
        """Compile the expression, and have Java validate the replacement."""
        options = RegexRouterConfig.parse(config)
        self._refusal = replacement_refusal("regex", options.regex, options.replacement)
        # A wrong replacement fails the topics that match.
        self._regex = Regex("regex", options.regex, None if self._refusal else options.replacement)

    def apply(self, frame: Frame) -> Frame:
        """Return the frame with new topics; one topic of all records stays one, without a column."""
        topic = frame.column("topic")
        if self._refusal is not None:
            matches = self._regex.found(topic).isNotNull()
            return frame.fail_where(matches, self._refusal.message, self._refusal.java_name)
        if isinstance(frame, SourceFrame) and frame.topic is not None:
            return cast("Frame", replace(frame, topic=self._routed(frame.topic)))
        return frame.with_column("topic", F.coalesce(self._regex.found(topic), topic))

    def _routed(self, topic: str) -> str:
        found = self._regex.found_text(topic)
        return topic if found is None else found
