"""Base of converters with a schema registry: the subject's topic, the id before the payload.

A batch is read in parts, one for each schema id in it; finding them costs one Spark job. While all records have the
id of the batch before, none is needed. A subclass writes and reads payloads:

    class AvroConverter(RegistryConverter):
        def _writing(self, topic, schema): ...
        def _reading(self, registered): ...
"""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters._support.converter_type import type_name
from connect_dagster.converters.schema_registry import wire
from connect_dagster.converters.schema_registry.config import SchemaRegistryConfig
from connect_dagster.converters.schema_registry.registry import RegisteredSchema, SchemaRegistry
from connect_dagster.errors import DataError
from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.schema import Schema

_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Writing:
    """Expressions that write records of one schema and topic as payloads.

    Attributes:
        id: the schema's id, which stands before them.
        payload: from the typed column to bytes; null for a tombstone.
    """

    id: int
    payload: Callable[[Column], Column]


@dataclass(frozen=True, slots=True)
class Reading:
    """Expressions that read payloads of one schema id as values.

    Attributes:
        schema: the values' schema; ``None`` for JSON text.
        value: from the payload's bytes to the typed column; null where it is null or cannot be read.
        is_null: from the payload's bytes, whether it is null as it should be; asked where ``value`` is null. ``None``
            when no payload is null.
    """

    schema: Schema | None
    value: Callable[[Column], Column]
    is_null: Callable[[Column], Column] | None = None


class RegistryConverter(Converter):
    """A converter whose schemas lie in a registry."""

    config_def: ClassVar[type[SchemaRegistryConfig]]
    needs_topic = True
    format: ClassVar[str]
    """Name of the payload's format in errors."""

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Take the options; the registry need not run yet.

        Raises:
            ConfigError: a value is wrong.
        """
        options = self.config_def.parse({"converter.type": type_name(is_key=is_key), **config})
        self.registry = SchemaRegistry(options, is_key=is_key)
        self._readings: OrderedDict[bytes, Reading] = OrderedDict()
        self._likely: bytes | None = None
        self._likely_decoders: dict[tuple[bytes, str], Decoder] = {}
        self._take(options)

    def _take(self, options: SchemaRegistryConfig) -> None:
        """Take the options of the subclass."""

    @abstractmethod
    def _writing(self, topic: str, schema: Schema | None) -> Writing | None:
        """Return the writing of records of a schema; ``None`` when all of them are null.

        Raises:
            DataError: this schema cannot be written.
            RetriableError: the registry does not respond.
        """

    @abstractmethod
    def _reading(self, registered: RegisteredSchema) -> Reading:
        """Return the reading of records of a registered schema.

        Raises:
            DataError: it cannot be read, as it is none of this format.
            RetriableError: the registry does not respond.
        """

    def encode(self, schema: Schema | None, column: Column) -> Column:
        """Raise an error: the subject depends on the topic."""
        raise DataError(f"{type(self).__name__} writes records of known topics only")

    def encode_for(self, topic: str, schema: Schema | None, column: Column) -> Column:
        """Return the expression of the bytes of a typed column. Null becomes null, unless its payload is not.

        Raises:
            DataError: this schema cannot be written, or the registry refuses it.
            RetriableError: the registry does not respond.
        """
        writing = self._writing(topic, schema)
        if writing is None:
            return F.lit(None).cast("binary")
        return wire.framed(writing.id, writing.payload(column))

    def expected_decoder(self, column: str) -> Decoder | None:
        """Return the decoder of the batch before, where it had only one schema; the same object while it is the same
        one.
        """
        if self._likely is None:
            return None
        wanted = (self._likely, column)
        if wanted not in self._likely_decoders:
            self._likely_decoders = {wanted: self._decoder(self._likely, F.col(column))}
        return self._likely_decoders[wanted]

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """Return one decoder for each schema id in the batch; runs a Spark job to find them.

        Raises:
            RetriableError: the registry does not respond.
        """
        rows = df.select(self._beginning(F.col(column)).alias("beginning")).distinct().collect()
        found = sorted({bytes(row.beginning) for row in rows if row.beginning is not None})
        self._likely = found[0] if len(rows) == 1 and found and found[0] else None
        decoders = [self._decoder(beginning, F.col(column)) for beginning in found]
        return decoders if len(found) == len(rows) else [_tombstones(F.col(column)), *decoders]

    def _decoder(self, beginning: bytes, record: Column) -> Decoder:
        failed = f"Failed to deserialize data to {self.format}: "
        if not beginning:
            return _unreadable(~wire.has_prefix(record), f"{failed}Unknown magic byte!")
        matches = wire.begins_with(record, beginning)
        payload = wire.payload(record)
        try:
            reading = self._known_reading(beginning)
            value = F.when(matches, reading.value(payload))
            readable = value.isNotNull()
            if reading.is_null is not None:
                readable |= matches & F.coalesce(reading.is_null(payload), F.lit(False))
        except (DataError, RecursionError, PySparkException) as error:  # of this schema's records, no others
            return _unreadable(matches, f"{failed}{error}")
        wrong = f"{failed}the bytes do not fit the schema with id {wire.schema_id(beginning)}"
        return Decoder(reading.schema, value, matches, F.coalesce(readable, F.lit(False)), F.lit(wrong))

    def _beginning(self, record: Column) -> Column:
        """Return the first bytes of a record, which decide how it is read; as ``wire.beginning``."""
        return wire.beginning(record)

    def _reading_after(self, beginning: bytes) -> Reading:
        """Return the reading of records that begin with these bytes."""
        return self._reading(self.registry.schema(wire.schema_id(beginning)))

    def _known_reading(self, beginning: bytes) -> Reading:
        if beginning not in self._readings:
            self._readings[beginning] = self._reading_after(beginning)
            if len(self._readings) > _KEPT:
                self._readings.popitem(last=False)
        return self._readings[beginning]


def _tombstones(record: Column) -> Decoder:
    return Decoder(None, F.lit(None).cast("string"), record.isNull())


def _unreadable(matches: Column, error: str) -> Decoder:
    return Decoder(None, F.lit(None).cast("string"), matches, F.lit(False), F.lit(error))
