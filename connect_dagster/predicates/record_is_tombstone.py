"""The predicate that holds for tombstones: records whose value is null (Java: ``RecordIsTombstone``).

predicates=gone
predicates.gone.type=org.apache.kafka.connect.transforms.predicates.RecordIsTombstone
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pyspark.sql import Column

from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.converter import Predicate
from connect_dagster.plugin.frames import RecordFrame


class RecordIsTombstoneConfig(ConfigDef):
    """The predicate has no options."""


class RecordIsTombstone(Predicate):
    """Matches records whose value is null."""

    config_def: ClassVar[type[ConfigDef]] = RecordIsTombstoneConfig
    java_class = "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"
    version = KAFKA_VERSION
    deterministic = True

    def configure(self, config: Mapping[str, str]) -> None:
        """Ignore the options."""

    def test(self, frame: RecordFrame) -> Column:
        """Return whether the value is null."""
        return frame.column("value").isNull()
