"""Gives every record a header (Java: ``InsertHeader``).

transforms=origin
transforms.origin.type=org.apache.kafka.connect.transforms.InsertHeader
transforms.origin.header=origin
transforms.origin.value.literal=warehouse-7
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, Importance, config_key, non_null
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import Frame
from connect_dagster.plugin.values import parse_string
from connect_dagster.transforms._support.record_headers import converter_of, header_bytes, with_headers


class InsertHeaderConfig(ConfigDef):
    """Options of the transform."""

    header: str = config_key("header", importance=Importance.HIGH, validator=non_null, doc="Name of the header.")
    value_literal: str = config_key(
        "value.literal",
        importance=Importance.HIGH,
        validator=non_null,
        doc="Value of the header in every record. What it is, such as a number, is told from the text.",
    )


class InsertHeader(Transform):
    """Adds the same header to every record."""

    config_def: ClassVar[type[ConfigDef]] = InsertHeaderConfig
    java_class = "org.apache.kafka.connect.transforms.InsertHeader"
    version = KAFKA_VERSION
    deterministic = True

    def configure(self, config: Mapping[str, str]) -> None:
        """Read the value's type from its text."""
        options = InsertHeaderConfig.parse(config)
        self._header = options.header
        self._schema, self._value = parse_string(options.value_literal)

    def apply(self, frame: Frame) -> Frame:
        """Return the frame with one more header."""
        data = converter_of(frame).to_bytes(self._schema, self._value)
        return with_headers(frame, [(self._header, header_bytes(data))])
