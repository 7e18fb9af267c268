"""Avro payloads and typed columns, by Spark's own Avro functions and expressions around them.

Spark reads and writes physical schemas (see ``types.physical``); decimals, small integers, maps with other keys than
text and unions are made of what it knows. A payload is read as the first field of a record whose second one is a byte
that we append: it is there only if all before it could be read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql.avro.functions import from_avro, to_avro

from connect_dagster.converters.avro import names
from connect_dagster.converters.avro.types import AvroField, AvroType, physical
from connect_dagster.expressions import decimal_bytes
from connect_dagster.expressions import literals as spark_literal
from connect_dagster.plugin.schema import DECIMAL, Schema, SchemaType

NULL_VALUE = "Found null value for non-optional schema"

_READ = "read"
_END = (AvroField(_READ, AvroType("boolean")),)
_SURELY_FITS = 15  # bytes that never have more than 38 digits
_SMALL = {SchemaType.INT8: ("tinyint", 2**8), SchemaType.INT16: ("smallint", 2**16)}


@dataclass(frozen=True, slots=True)
class AvroDecoding:
    """Reads payloads of an Avro schema as columns of its Connect schema."""

    schema: Schema
    type: AvroType

    @property
    def can_be_null(self) -> bool:
        """Return whether a payload may mean null."""
        return self.type.kind == "union" and self.type.nullable

    def value(self, payload: Column) -> Column:
        """Return the typed column; null where the payload is null, means null or cannot be read."""
        if self._is_raw:
            return self._from_raw(payload)
        found = self._found(payload)
        if not _decoding_changes(self.schema, self.type):
            return found["payload"]
        # Evaluated once: what stands in a branch of a condition is worked out again for each use.
        return F.transform(
            F.array(found),
            lambda one: F.when(
                one[_READ].isNotNull() & _fits(self.schema, self.type, one["payload"]),
                _decoded(self.schema, self.type, one["payload"]),
            ),
        )[0]

    def is_null(self, payload: Column) -> Column:
        """Return whether the payload means null."""
        found = self._found(payload)
        return found[_READ].isNotNull() & found["payload"].isNull()

    @property
    def _is_raw(self) -> bool:
        """Java writes a schema of bytes without their length."""
        return self.type.kind == "bytes"

    def _from_raw(self, payload: Column) -> Column:
        return decimal_bytes.to_decimal(payload, self.schema.scale) if self.schema.name == DECIMAL else payload

    def _found(self, payload: Column) -> Column:
        whole = F.concat(payload, F.lit(bytearray(b"\1")))
        return from_avro(whole, physical(self.type, wrapper=_END), {"mode": "PERMISSIVE"})


def _decoding_changes(schema: Schema, type_: AvroType) -> bool:
    """Return whether Spark reads the type as something else than the schema's."""
    type_ = type_.value
    if schema.name == DECIMAL or schema.type in _SMALL or type_.kind == "union":
        return True
    match schema.type:
        case SchemaType.STRUCT:
            return any(_decoding_changes(*pair) for pair in _fields(schema, type_))
        case SchemaType.ARRAY:
            return _decoding_changes(schema.item, type_.part)
        case SchemaType.MAP:
            return type_.kind == "array" or _decoding_changes(schema.item, type_.part)
        case _:
            return False


def _fields(schema: Schema, type_: AvroType) -> Iterator[tuple[Schema, AvroType]]:
    for field, avro in zip(schema.fields, type_.fields, strict=True):
        yield field.schema, avro.type


def _decoded(schema: Schema, type_: AvroType, raw: Column) -> Column:
    type_ = type_.value
    if not _decoding_changes(schema, type_):
        return raw
    if schema.name == DECIMAL:
        return decimal_bytes.to_decimal(raw, schema.scale)
    match schema.type:
        case SchemaType.STRUCT:
            return F.when(raw.isNotNull(), F.struct(*_decoded_fields(schema, type_, raw)))
        case SchemaType.ARRAY:
            return F.transform(raw, lambda item: _decoded(schema.item, type_.part, item))
        case SchemaType.MAP if type_.kind == "array":
            return F.map_from_entries(F.transform(raw, lambda entry: _decoded_entry(schema, type_.part, entry)))
        case SchemaType.MAP:
            return F.transform_values(raw, lambda _, item: _decoded(schema.item, type_.part, item))
        case _:
            return _small(schema, raw)


def _decoded_fields(schema: Schema, type_: AvroType, raw: Column) -> list[Column]:
    if type_.kind == "union":
        return [
            _decoded(field.schema, branch, raw[f"member{i}"]).alias(field.name)
            for i, (field, branch) in enumerate(zip(schema.fields, type_.choices, strict=True))
        ]
    return [
        _decoded(field.schema, avro.type, raw[avro.name]).alias(field.name)
        for field, avro in zip(schema.fields, type_.fields, strict=True)
    ]


def _entry_parts(schema: Schema, entry: AvroType) -> Iterator[tuple[str, Schema, AvroType]]:
    types = {one.name: one.type for one in entry.fields}
    yield names.KEY, schema.key, types[names.KEY]
    yield names.VALUE, schema.item, types[names.VALUE]


def _decoded_entry(schema: Schema, type_: AvroType, entry: Column) -> Column:
    return F.struct(
        *(_decoded(part, type_, entry[name]).alias(name) for name, part, type_ in _entry_parts(schema, type_))
    )


def _small(schema: Schema, raw: Column) -> Column:
    """Return the lowest bits of a number, as Java's cast takes them."""
    name, values = _SMALL[schema.type]
    return (F.pmod(raw.cast("bigint") + values // 2, F.lit(values)) - values // 2).cast(name)


def _fits(schema: Schema, type_: AvroType, raw: Column) -> Column:
    """Return whether a column can hold a value: decimals of up to 38 digits, maps without null keys; never null."""
    checks = list(_checks(schema, type_.value, raw))
    return F.coalesce(functools.reduce(Column.__and__, checks), F.lit(True)) if checks else F.lit(True)


def _checks(schema: Schema, type_: AvroType, raw: Column) -> Iterator[Column]:
    if not _can_be_unfit(schema):
        return
    if schema.name == DECIMAL:
        short = F.octet_length(raw).between(1, _SURELY_FITS)
        yield raw.isNull() | short | decimal_bytes.to_decimal(raw, schema.scale).isNotNull()
    elif type_.kind == "union":
        for i, (field, branch) in enumerate(zip(schema.fields, type_.choices, strict=True)):
            yield from _checks(field.schema, branch.value, raw[f"member{i}"])
    elif schema.type is SchemaType.STRUCT:
        for field, avro in zip(schema.fields, type_.fields, strict=True):
            yield from _checks(field.schema, avro.type.value, raw[avro.name])
    elif schema.type is SchemaType.ARRAY:
        yield F.coalesce(F.forall(raw, lambda item: _fits(schema.item, type_.part, item)), F.lit(True))
    elif type_.kind == "array":
        yield F.coalesce(F.forall(raw, lambda entry: _entry_fits(schema, type_.part, entry)), F.lit(True))
    else:
        yield F.coalesce(F.forall(F.map_values(raw), lambda item: _fits(schema.item, type_.part, item)), F.lit(True))


def _entry_fits(schema: Schema, type_: AvroType, entry: Column) -> Column:
    fitting = [_fits(part, avro, entry[name]) for name, part, avro in _entry_parts(schema, type_)]
    return functools.reduce(Column.__and__, fitting, entry[names.KEY].isNotNull())


def _can_be_unfit(schema: Schema) -> bool:
    if schema.name == DECIMAL:
        return True
    match schema.type:
        case SchemaType.STRUCT:
            return any(_can_be_unfit(field.schema) for field in schema.fields)
        case SchemaType.ARRAY:
            return _can_be_unfit(schema.item)
        case SchemaType.MAP:
            return not names.has_text_keys(schema, optional_too=False) or _can_be_unfit(schema.item)
        case _:
            return False


@dataclass(frozen=True, slots=True)
class AvroEncoding:
    """Writes columns of a Connect schema as payloads of its Avro schema.

    Attributes:
        ignore_defaults: write null as null where a field has a default (``ignore.default.for.nullables``).
    """

    schema: Schema
    type: AvroType
    ignore_defaults: bool = False

    def payload(self, column: Column) -> Column:
        """Return the bytes of a typed column; null stays null."""
        if self.type.kind == "bytes":  # Java writes them without their length
            return decimal_bytes.written(self.schema, column) if self.schema.name == DECIMAL else column
        encoded = self._encoded(self.schema, self.type, column)
        if self.type.kind != "union":
            return to_avro(encoded, physical(self.type))
        record = AvroType("record", fields=(AvroField("payload", self.type),))
        return F.when(column.isNotNull(), to_avro(F.struct(encoded.alias("payload")), physical(record)))

    def encode_errors(self, column: Column) -> Column | None:
        """Return the text of the error of values that the schema does not allow; null for the others."""
        errors = list(self._errors(self.schema, self.type, column, top=True))
        return F.coalesce(*errors) if errors else None

    def _encoded(self, schema: Schema, type_: AvroType, column: Column) -> Column:
        type_ = type_.value
        if not self._changes(schema, type_):
            return column
        if schema.name == DECIMAL:
            return decimal_bytes.written(schema, column)
        match schema.type:
            case SchemaType.STRUCT:
                return F.when(column.isNotNull(), F.struct(*self._encoded_fields(schema, type_, column)))
            case SchemaType.ARRAY:
                return F.transform(column, lambda item: self._encoded(schema.item, type_.part, item))
            case SchemaType.MAP if type_.kind == "array":
                return F.transform(F.map_entries(column), lambda entry: self._encoded_entry(schema, type_.part, entry))
            case _:
                return F.transform_values(column, lambda _, item: self._encoded(schema.item, type_.part, item))

    def _encoded_fields(self, schema: Schema, type_: AvroType, column: Column) -> list[Column]:
        if type_.kind == "union":
            return [
                self._encoded(field.schema, branch, column[field.name]).alias(f"member{i}")
                for i, (field, branch) in enumerate(zip(schema.fields, type_.choices, strict=True))
            ]
        return [
            self._encoded(field.schema, avro.type, self._with_default(field.schema, column[field.name])).alias(
                avro.name
            )
            for field, avro in zip(schema.fields, type_.fields, strict=True)
        ]

    def _encoded_entry(self, schema: Schema, type_: AvroType, entry: Column) -> Column:
        return F.struct(
            *(self._encoded(part, avro, entry[name]).alias(name) for name, part, avro in _entry_parts(schema, type_))
        )

    def _with_default(self, schema: Schema, column: Column) -> Column:
        """Replace null by the default value, as Java's ``Struct.get`` does."""
        if schema.default is None or self.ignore_defaults:
            return column
        return F.coalesce(column, spark_literal.literal(schema, schema.default))

    def _changes(self, schema: Schema, type_: AvroType) -> bool:
        """Return whether Spark writes the type from something else than the schema's."""
        type_ = type_.value
        if schema.name == DECIMAL or type_.kind == "union":
            return True
        match schema.type:
            case SchemaType.STRUCT:
                return any(
                    self._changes(field.schema, avro.type)
                    or field.name != avro.name
                    or (field.schema.default is not None and not self.ignore_defaults)
                    for field, avro in zip(schema.fields, type_.fields, strict=True)
                )
            case SchemaType.ARRAY:
                return self._changes(schema.item, type_.part)
            case SchemaType.MAP:
                return type_.kind == "array" or self._changes(schema.item, type_.part)
            case _:
                return False

    def _errors(self, schema: Schema, type_: AvroType, column: Column, *, top: bool = False) -> Iterator[Column]:
        """Return the texts of possible errors, each null for values without that error."""
        type_ = type_.value
        has_default = not top and schema.default is not None and not self.ignore_defaults
        if not schema.optional and not has_default:
            yield F.when(column.isNull(), F.lit(NULL_VALUE))
        if type_.kind == "enum":
            wrong = F.concat(F.lit(f"Not a symbol of the enum {type_.name}: "), column)
            yield F.when(~column.isin(*type_.symbols), wrong)
        match schema.type:
            case SchemaType.STRUCT:
                found = [
                    error
                    for field, avro in _named_parts(schema, type_)
                    for error in self._errors(field[1], avro, column[field[0]])
                ]
                if found:
                    yield F.when(column.isNotNull(), F.coalesce(*found))
            case SchemaType.ARRAY:
                yield from self._in_items(column, lambda item: self._errors(schema.item, type_.part, item))
            case SchemaType.MAP:
                values = schema.item, (_entry_value(type_.part) if type_.kind == "array" else type_.part)
                yield from self._in_items(F.map_values(column), lambda item: self._errors(*values, item))
            case _:
                pass

    def _in_items(self, items: Column, errors: Callable[[Column], Iterator[Column]]) -> Iterator[Column]:
        if list(errors(F.lit(None))):
            yield F.get(F.array_compact(F.transform(items, lambda item: F.coalesce(*errors(item)))), F.lit(0))


def _named_parts(schema: Schema, type_: AvroType) -> Iterator[tuple[tuple[str, Schema], AvroType]]:
    types = type_.choices if type_.kind == "union" else [one.type for one in type_.fields]
    for field, avro in zip(schema.fields, types, strict=True):
        yield (field.name, field.schema), avro


def _entry_value(entry: AvroType) -> AvroType:
    return next(one.type for one in entry.fields if one.name == names.VALUE)
