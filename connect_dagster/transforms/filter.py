"""Leaves out records: all of them, or with a predicate those it holds for (Java: ``Filter``).

transforms=dropGone
transforms.dropGone.type=org.apache.kafka.connect.transforms.Filter
transforms.dropGone.predicate=gone
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame


class FilterConfig(ConfigDef):
    """The transform has no options."""


class Filter(Transform):
    """Leaves out every record it is applied to."""

    config_def: ClassVar[type[ConfigDef]] = FilterConfig
    java_class = "org.apache.kafka.connect.transforms.Filter"
    version = KAFKA_VERSION
    deterministic = True
    drops = True

    def configure(self, config: Mapping[str, str]) -> None:
        """Ignore the options."""

    def apply(self, frame: Frame) -> Frame:
        """Return the frame without records."""
        return frame.where(F.lit(False))
