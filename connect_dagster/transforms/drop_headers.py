"""Takes headers away from the records (Java: ``DropHeaders``).

transforms=clean
transforms.clean.type=org.apache.kafka.connect.transforms.DropHeaders
transforms.clean.headers=trace-id,span-id
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, Importance, UniqueValues, config_key
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame
from connect_dagster.transforms._support.record_headers import headers_of


class DropHeadersConfig(ConfigDef):
    """Options of the transform."""

    headers: tuple[str, ...] = config_key(
        "headers",
        importance=Importance.HIGH,
        validator=UniqueValues(empty=False),
        doc="Names of the headers to take away.",
    )


class DropHeaders(Transform):
    """Takes away all headers of these names."""

    config_def: ClassVar[type[ConfigDef]] = DropHeadersConfig
    java_class = "org.apache.kafka.connect.transforms.DropHeaders"
    version = KAFKA_VERSION
    deterministic = True

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the names."""
        self._names = DropHeadersConfig.parse(config).headers

    def apply(self, frame: Frame) -> Frame:
        """Return the frame with the other headers."""
        if not frame.has("headers"):
            return frame
        return frame.with_column("headers", F.filter(headers_of(frame), lambda one: ~one["key"].isin(*self._names)))
