"""The plugins that every worker has."""

from __future__ import annotations

from typing import Any

from connect_dagster.config_providers.directory import DirectoryConfigProvider
from connect_dagster.config_providers.environment import EnvVarConfigProvider
from connect_dagster.config_providers.file import FileConfigProvider
from connect_dagster.connectors.file.sink import FileStreamSinkConnector
from connect_dagster.connectors.file.source import FileStreamSourceConnector
from connect_dagster.connectors.jdbc.sink.connector import JdbcSinkConnector
from connect_dagster.connectors.jdbc.source.connector import JdbcSourceConnector
from connect_dagster.connectors.spark.sink import SparkSinkConnector
from connect_dagster.connectors.spark.source import SparkSourceConnector
from connect_dagster.converters.avro.converter import AvroConverter
from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.converters.json_schema.converter import JsonSchemaConverter
from connect_dagster.converters.plain.boolean_converter import BooleanConverter
from connect_dagster.converters.plain.byte_array_converter import ByteArrayConverter
from connect_dagster.converters.plain.number_converters import (
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.converters.plain.string_converter import StringConverter
from connect_dagster.converters.protobuf.converter import ProtobufConverter
from connect_dagster.predicates.has_header_key import HasHeaderKey
from connect_dagster.predicates.record_is_tombstone import RecordIsTombstone
from connect_dagster.predicates.topic_name_matches import TopicNameMatches
from connect_dagster.transforms.drop_headers import DropHeaders
from connect_dagster.transforms.filter import Filter
from connect_dagster.transforms.header_from import HeaderFromKey, HeaderFromValue
from connect_dagster.transforms.insert_header import InsertHeader
from connect_dagster.transforms.lookup_join import LookupJoin
from connect_dagster.transforms.of_fields import FIELD_TRANSFORMS
from connect_dagster.transforms.regex_router import RegexRouter
from connect_dagster.transforms.sql_transform import SqlTransform
from connect_dagster.transforms.timestamp_converter import TimestampConverterKey, TimestampConverterValue
from connect_dagster.transforms.timestamp_router import TimestampRouter

BUNDLED: tuple[type[Any], ...] = (
    DirectoryConfigProvider,
    EnvVarConfigProvider,
    FileConfigProvider,
    FileStreamSinkConnector,
    FileStreamSourceConnector,
    JdbcSinkConnector,
    JdbcSourceConnector,
    SparkSinkConnector,
    SparkSourceConnector,
    AvroConverter,
    BooleanConverter,
    ByteArrayConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    JsonConverter,
    JsonSchemaConverter,
    LongConverter,
    ProtobufConverter,
    ShortConverter,
    SimpleHeaderConverter,
    StringConverter,
    *FIELD_TRANSFORMS,
    HasHeaderKey,
    RecordIsTombstone,
    TopicNameMatches,
    DropHeaders,
    Filter,
    HeaderFromKey,
    HeaderFromValue,
    InsertHeader,
    LookupJoin,
    RegexRouter,
    SqlTransform,
    TimestampConverterKey,
    TimestampConverterValue,
    TimestampRouter,
)
"""Every class of these; one that is plugins of two kinds stands here once."""
