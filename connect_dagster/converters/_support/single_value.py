"""Base of converters whose data has one schema, which the bytes do not hold: text, bytes, numbers, booleans."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters._support.converter_type import converter_type, type_name
from connect_dagster.expressions import value_classes
from connect_dagster.expressions.java_calls import kept_in_jvm
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import Schema


class SingleValueConverterConfig(ConfigDef):
    """Options of a converter without options of its class."""

    type: str = converter_type()


class SingleValueConverter(Converter, HeaderConverter):
    """A converter of data and headers with one decoder."""

    config_def: ClassVar[type[ConfigDef]] = SingleValueConverterConfig
    version = KAFKA_VERSION

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Read the options."""
        self._configure({"converter.type": type_name(is_key=is_key), **config})

    def configure_headers(self, config: Mapping[str, str]) -> None:
        """Read the options."""
        self._configure({"converter.type": "header", **config})

    def _configure(self, config: Mapping[str, str]) -> None:
        self.configured(self.config_def.parse(config))
        self._options = frozenset(config.items())

    def configured(self, options: Any) -> None:
        """Keep the parsed options that the converter uses."""

    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        """Return the bytes that ``encode`` returns."""
        return self.encode(schema, column)

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """Return the one decoder."""
        return [self.expected_decoder(column)]

    def expected_decoder(self, column: str) -> Decoder:
        """Return the one decoder, the same object for all converters of a class with the same options."""
        return _decoder(_Decoded(type(self), self._options, column, self))

    @abstractmethod
    def decoder(self, data: Column) -> Decoder:
        """Return the decoder of a binary column."""


@dataclass(frozen=True, slots=True)
class _Decoded:
    """A column under a converter: equal where the decoders are."""

    converter_class: type[SingleValueConverter]
    options: frozenset[tuple[str, str]]
    column: str
    converter: SingleValueConverter = field(compare=False)


@kept_in_jvm(100)
def _decoder(of: _Decoded) -> Decoder:
    return of.converter.decoder(F.col(of.column))


class PrimitiveConverter(SingleValueConverter):
    """A converter of values of one primitive type; null is written as no bytes.

    Attributes:
        schema: optional, of the values.
    """

    schema: ClassVar[Schema]

    def encode(self, schema: Schema | None, column: Column) -> Column:
        """Return the bytes of the values.

        Raises:
            DataError: with Java's text; the schema does not fit the converter.
        """
        wrong = self.encode_errors(schema, column)
        if wrong is None:
            return self.bytes_of(column)
        failed = F.when(wrong.isNotNull(), F.raise_error(wrong).cast("binary"))
        return (
            failed if schema is not None else failed.otherwise(self.bytes_of(column.try_cast(self.schema.to_spark())))
        )

    @abstractmethod
    def bytes_of(self, column: Column) -> Column:
        """Return the bytes of a column of the type."""


def class_of(schema: Schema) -> str:
    """Return the Java class of a schema's values that are not null: ``class java.lang.Long``."""
    return f"class {value_classes.class_of(schema)}"


def class_of_json(text: Column) -> Column:
    """Return the Java class of the value in JSON text without a schema; null where it is null."""
    return F.concat(F.lit("class "), F.nullif(value_classes.class_of_json(text), F.lit("null")))


def class_of_value(schema: Schema | None, value: Any) -> str:
    """Return the Java class of one value in Python's terms."""
    return class_of(schema) if schema is not None else f"class {value_classes.class_of_python(value)}"
