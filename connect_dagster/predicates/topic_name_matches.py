"""The predicate that holds for records of topics with a name like this (Java: ``TopicNameMatches``).

predicates=orders
predicates.orders.type=org.apache.kafka.connect.transforms.predicates.TopicNameMatches
predicates.orders.pattern=orders-.*
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions import java_patterns
from connect_dagster.expressions.java_patterns import Regex
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, all_of, config_key, non_empty_string
from connect_dagster.plugin.converter import Predicate
from connect_dagster.plugin.frames import RecordFrame, SourceFrame


class TopicNameMatchesConfig(ConfigDef):
    """Options of the predicate."""

    pattern: str = config_key(
        "pattern",
        validator=all_of(non_empty_string, java_patterns.regex),
        doc="Java regular expression that has to match the whole name of a record's topic.",
    )


class TopicNameMatches(Predicate):
    """Matches records whose topic's whole name matches a regular expression."""

    config_def: ClassVar[type[ConfigDef]] = TopicNameMatchesConfig
    java_class = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
    version = KAFKA_VERSION
    deterministic = True

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the pattern."""
        self._pattern = Regex("pattern", TopicNameMatchesConfig.parse(config).pattern)

    def test(self, frame: RecordFrame) -> Column:
        """Return whether the topic matches."""
        matches = self.matches_all(frame)
        return self._pattern.found(frame.column("topic")).isNotNull() if matches is None else F.lit(matches)

    def matches_all(self, frame: RecordFrame) -> bool | None:
        """Return whether the topic matches where all records have the same."""
        if not isinstance(frame, SourceFrame) or frame.topic is None:
            return None
        return self._pattern.found_text(frame.topic) is not None
