"""Numbers as the bytes of Kafka's own serializers (Java: ``NumberConverter`` and the classes made of it)."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters._support.converter_type import converter_type, type_name
from connect_dagster.converters._support.java_classes import class_of, class_of_json, class_of_value
from connect_dagster.errors import DataError
from connect_dagster.expressions import big_endian
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import Schema, SchemaType


class NumberConverterConfig(ConfigDef):
    """Options of the converters (Java: ``NumberConverterConfig``)."""

    type: str = converter_type()


class NumberConverter(Converter, HeaderConverter):
    """Writes numbers of one type, null as no bytes; reads them with an optional schema.

    Attributes:
        type: the one type.
        layout: of the bytes, in the words of ``struct``.
        word: what Java's errors call the type.
    """

    config_def: ClassVar[type[ConfigDef]] = NumberConverterConfig
    version = KAFKA_VERSION
    type: ClassVar[SchemaType]
    layout: ClassVar[str]
    word: ClassVar[str]

    @classmethod
    @abstractmethod
    def bytes_of(cls, column: Column) -> Column:
        """Bytes of a column of the type."""

    @classmethod
    @abstractmethod
    def number_in(cls, column: Column) -> Column:
        """The number in a binary column; null where the length is wrong."""

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Take the options, of which there are none."""
        self._configure({"converter.type": type_name(is_key=is_key), **config})

    def configure_headers(self, config: Mapping[str, str]) -> None:
        """Take the options, of which there are none."""
        self._configure({"converter.type": "header", **config})

    def _configure(self, config: Mapping[str, str]) -> None:
        NumberConverterConfig.parse(config)
        self._decoders: dict[str, Decoder] = {}

    def encode(self, schema: Schema | None, column: Column, *, ascii: bool = False) -> Column:
        """The number's bytes."""
        wrong = self.encode_errors(schema, column)
        number = column if schema is not None else column.try_cast(Schema(self.type).to_spark())
        if wrong is None:
            return self.bytes_of(number)
        failed = F.raise_error(wrong).cast("binary")
        if schema is not None:
            return F.when(column.isNotNull(), failed)
        return F.when(wrong.isNotNull(), failed).otherwise(self.bytes_of(number))

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """The error of values of another type."""
        if schema is None:
            found = class_of_json(column)
            text = F.concat(F.lit(f"Failed to serialize to {self.word} (was "), found, F.lit("): "))
            return F.when(found != class_of(Schema(self.type)), text)
        if class_of(schema) == class_of(Schema(self.type)):
            return None
        return F.when(column.isNotNull(), self._not_this(class_of(schema)))

    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        """As of data."""
        return self.encode(schema, column)

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """Bytes of one number."""
        if value is None:
            return None
        found = class_of_value(schema, value)
        if found != class_of(Schema(self.type)):
            raise DataError(self._not_this(found))
        return struct.pack(self.layout, value)

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """The number in the bytes of one header."""
        schema = Schema(self.type, optional=True)
        if data is None:
            return schema, None
        if len(data) != struct.calcsize(self.layout):
            raise DataError(self._unreadable())
        return schema, struct.unpack(self.layout, data)[0]

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """The one decoder there is."""
        return [self.expected_decoder(column)]

    def expected_decoder(self, column: str) -> Decoder:
        """The one decoder there is, the same object at each call."""
        if column not in self._decoders:
            value = F.col(column)
            readable = value.isNull() | (F.length(value) == struct.calcsize(self.layout))
            schema = Schema(self.type, optional=True)
            error = F.lit(self._unreadable())
            self._decoders[column] = Decoder(schema, self.number_in(value), readable=readable, error=error)
        return self._decoders[column]

    def _not_this(self, found: str) -> str:
        return f"Failed to serialize to {self.word} (was {found}): "

    def _unreadable(self) -> str:
        return f"Failed to deserialize {self.word}: "


class _IntegralConverter(NumberConverter):
    """Bytes of an integral type are the number's own."""

    @classmethod
    def bytes_of(cls, column: Column) -> Column:
        """Bytes of a column of the type."""
        return big_endian.from_integral(column, struct.calcsize(cls.layout))

    @classmethod
    def number_in(cls, column: Column) -> Column:
        """The number in a binary column; null where the length is wrong."""
        return big_endian.to_integral(column, struct.calcsize(cls.layout)).cast(Schema(cls.type).to_spark())


class ShortConverter(_IntegralConverter):
    """Numbers of 16 bits."""

    java_class = "org.apache.kafka.connect.converters.ShortConverter"
    type = SchemaType.INT16
    layout = ">h"
    word = "short"


class IntegerConverter(_IntegralConverter):
    """Numbers of 32 bits."""

    java_class = "org.apache.kafka.connect.converters.IntegerConverter"
    type = SchemaType.INT32
    layout = ">i"
    word = "integer"


class LongConverter(_IntegralConverter):
    """Numbers of 64 bits."""

    java_class = "org.apache.kafka.connect.converters.LongConverter"
    type = SchemaType.INT64
    layout = ">q"
    word = "long"


class FloatConverter(NumberConverter):
    """Floating-point numbers of 32 bits."""

    java_class = "org.apache.kafka.connect.converters.FloatConverter"
    type = SchemaType.FLOAT32
    layout = ">f"
    word = "float"

    @classmethod
    def bytes_of(cls, column: Column) -> Column:
        """Bytes of a float column."""
        return big_endian.from_float(column)

    @classmethod
    def number_in(cls, column: Column) -> Column:
        """The number in a binary column; null where the length is wrong."""
        return big_endian.to_float(column)


class DoubleConverter(NumberConverter):
    """Floating-point numbers of 64 bits."""

    java_class = "org.apache.kafka.connect.converters.DoubleConverter"
    type = SchemaType.FLOAT64
    layout = ">d"
    word = "double"

    @classmethod
    def bytes_of(cls, column: Column) -> Column:
        """Bytes of a double column."""
        return big_endian.from_double(column)

    @classmethod
    def number_in(cls, column: Column) -> Column:
        """The number in a binary column; null where the length is wrong."""
        return big_endian.to_double(column)
