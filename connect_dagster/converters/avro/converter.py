"""Connect data as Avro with a schema registry (Java: ``io.confluent.connect.avro.AvroConverter``).

Example:
    value.converter=io.confluent.connect.avro.AvroConverter
    value.converter.schema.registry.url=http://localhost:8081

Each record is a zero byte, the id of its schema in the registry, and Avro's binary form.
"""

from __future__ import annotations

from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.avro.columns import AvroDecoding, AvroEncoding
from connect_dagster.converters.avro.from_connect import FromConnect
from connect_dagster.converters.avro.to_connect import ToConnect
from connect_dagster.converters.avro.types import AvroType, parsed, physical
from connect_dagster.converters.schema_registry.config import SchemaRegistryConfig
from connect_dagster.converters.schema_registry.converter import Reading, RegistryConverter, Writing
from connect_dagster.converters.schema_registry.registry import AVRO, RegisteredSchema
from connect_dagster.errors import ConfigError, DataError
from connect_dagster.plugin.config import Importance, config_key
from connect_dagster.plugin.schema import Schema, SchemaType

_NO_SCHEMA = "AvroConverter writes data with a schema only, and this record has none"
_KEPT = 100
_UNSUPPORTED = ("generalized.sum.type.support", "discard.type.doc.default", "flatten.unions")


class AvroConverterConfig(SchemaRegistryConfig):
    """Options of the converter (Java: ``AvroConverterConfig``, ``AvroDataConfig``)."""

    schemas_cache_size: int = config_key(
        "schemas.cache.config",
        default=1000,
        importance=Importance.LOW,
        doc="How many schemas Java's converter remembers; all are remembered here, up to a fixed number.",
    )
    generalized_sum_types: bool = config_key(
        "generalized.sum.type.support", default=False, doc="Not supported: another form of unions."
    )
    ignore_defaults: bool = config_key(
        "ignore.default.for.nullables",
        default=False,
        doc="Write null as null, also where an optional field has a default value.",
    )
    enhanced: bool = config_key(
        "enhanced.avro.schema.support",
        default=False,
        doc="Write enums as such again, and name the fields of unions in full.",
    )
    scrub_names: bool = config_key("scrub.invalid.names", default=False, doc="Change names that Avro does not allow.")
    meta_data: bool = config_key(
        "connect.meta.data",
        default=True,
        importance=Importance.LOW,
        doc="Write what Avro has no place for (names, versions, parameters) as properties of the schema.",
    )
    discard_docs: bool = config_key(
        "discard.type.doc.default",
        default=False,
        importance=Importance.LOW,
        doc="Not supported: keep docs and defaults of fields only.",
    )
    optional_keys: bool = config_key(
        "allow.optional.map.keys",
        default=False,
        importance=Importance.LOW,
        doc="Write maps whose keys are optional strings as maps, not as arrays of entries.",
    )
    flatten_singles: bool = config_key(
        "flatten.singleton.unions",
        default=True,
        importance=Importance.LOW,
        doc="Read a union of one type as that type.",
    )
    flatten_unions: bool = config_key(
        "flatten.unions", default=False, importance=Importance.LOW, doc="Not supported for Avro."
    )


class AvroConverter(RegistryConverter):
    """Writes and reads Avro, in the forms that Confluent's converter for Java writes and reads."""

    config_def: ClassVar[type[SchemaRegistryConfig]] = AvroConverterConfig
    java_class = "io.confluent.connect.avro.AvroConverter"
    format = "Avro"

    def _take(self, options: SchemaRegistryConfig) -> None:
        assert isinstance(options, AvroConverterConfig)
        values = options.model_dump(by_alias=True)
        for name in _UNSUPPORTED:
            if values[name]:
                raise ConfigError.invalid(name, values[name], "this option is not supported")
        if not options.flatten_singles:
            raise ConfigError.invalid("flatten.singleton.unions", False, "such unions are always flattened")
        self._to_connect = ToConnect(options.meta_data, options.enhanced)
        self._from_connect = FromConnect(
            options.meta_data, options.enhanced, options.optional_keys, options.scrub_names
        )
        self._ignore_defaults = options.ignore_defaults
        self._made: dict[int, tuple[Schema, str, AvroType]] = {}

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """Return the text of the error of each record that does not fit its schema, or has none."""
        if schema is None:
            return F.when(column != "null", F.lit(_NO_SCHEMA))
        return self._encoding(schema).encode_errors(column)

    def _writing(self, topic: str, schema: Schema | None) -> Writing | None:
        if schema is None:
            return None
        text, type_ = self._avro(schema)
        registered = self.registry.to_write(topic, _record_name(schema, type_), text, AVRO)
        if registered.text != text and physical(self._parsed(registered)) != physical(type_):
            raise DataError(
                f"Records of the schema {text} cannot be written with the schema of id {registered.id}, "
                f"as their bytes differ: {registered.text}"
            )
        return Writing(registered.id, self._encoding(schema).payload)

    def _encoding(self, schema: Schema) -> AvroEncoding:
        return AvroEncoding(schema, self._avro(schema)[1], self._ignore_defaults)

    def _avro(self, schema: Schema) -> tuple[str, AvroType]:
        """Return the Avro schema for one of Connect's, and its text; kept for the schema objects seen last."""
        made = self._made.get(id(schema))
        if made is None or made[0] is not schema:
            text = self._from_connect.text(schema)
            if len(self._made) >= _KEPT:
                self._made.clear()
            made = self._made[id(schema)] = (schema, text, parsed(text))
        return made[1:]

    def _reading(self, registered: RegisteredSchema) -> Reading:
        type_ = self._parsed(registered)
        # Java reads a record by its own schema, also where the whole is a union with null.
        own = type_.value if type_.value.kind == "record" else type_
        schema = self._to_connect.schema(own, self.registry.version(registered.id))
        decoding = AvroDecoding(schema, type_)
        return Reading(schema, decoding.value, decoding.is_null if decoding.can_be_null else None)

    def _parsed(self, registered: RegisteredSchema) -> AvroType:
        if registered.type != AVRO:
            raise DataError(f"Schema {registered.id} is of type {registered.type}, not {AVRO}")
        return parsed(registered.text, self._referenced(registered))

    def _referenced(self, registered: RegisteredSchema) -> dict[str, str]:
        """Return the texts of the schemas it uses, those first that the others use."""
        found: dict[str, str] = {}
        for reference in registered.references:
            used = self.registry.referenced(reference)
            found |= self._referenced(used)
            found[reference.name] = used.text
        return found


def _record_name(schema: Schema, type_: AvroType) -> str | None:
    """Return the name that strategies build a subject from: that of a record, ``None`` of other types."""
    return type_.value.name if schema.type is SchemaType.STRUCT else None
