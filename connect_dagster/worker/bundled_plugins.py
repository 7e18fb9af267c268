"""The plugins that every worker has."""

from __future__ import annotations

from typing import Any

from connect_dagster.config_providers.directory import DirectoryConfigProvider
from connect_dagster.config_providers.environment import EnvVarConfigProvider
from connect_dagster.config_providers.file import FileConfigProvider
from connect_dagster.connectors.file.sink import FileStreamSinkConnector
from connect_dagster.connectors.file.source import FileStreamSourceConnector
from connect_dagster.converters.avro.converter import AvroConverter
from connect_dagster.converters.boolean_converter import BooleanConverter
from connect_dagster.converters.byte_array_converter import ByteArrayConverter
from connect_dagster.converters.json_converter import JsonConverter
from connect_dagster.converters.number_converters import (
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from connect_dagster.converters.simple_header_converter import SimpleHeaderConverter
from connect_dagster.converters.string_converter import StringConverter

BUNDLED: tuple[type[Any], ...] = (
    DirectoryConfigProvider,
    EnvVarConfigProvider,
    FileConfigProvider,
    FileStreamSinkConnector,
    FileStreamSourceConnector,
    AvroConverter,
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    JsonConverter,
    LongConverter,
    ShortConverter,
    SimpleHeaderConverter,
    StringConverter,
)
"""Every class of these; one that is plugins of two kinds stands here once."""
