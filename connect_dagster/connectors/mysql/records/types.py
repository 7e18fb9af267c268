"""Fields of records for columns of tables: schema, how the kernels read the values, and what becomes of them.

Debezium: ``BinlogValueConverters`` and ``JdbcValueConverters``. A DECIMAL stays unscaled bytes, which is what the
logical type Decimal has on the wire; by its schema it is one.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from binascii import hexlify
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_type

from connect_dagster.connectors.mysql.decode.columns import Compact, Reading
from connect_dagster.connectors.mysql.decode.kernels import Bytes, Flags, Longs, Offsets, kernel
from connect_dagster.connectors.mysql.decode.number_kernels import write_twos_complement
from connect_dagster.connectors.mysql.records.envelope import ENUM
from connect_dagster.connectors.mysql.records.type_modes import (
    BigIntUnsignedMode,
    BinaryMode,
    DecimalMode,
    TimePrecisionMode,
    TypeModes,
)
from connect_dagster.connectors.mysql.schema.model import Column
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaField, SchemaType

PRECISION = "connect.decimal.precision"
_UNSIGNED_BIGINT_DIGITS = 20
_FLOAT_BITS = 24
EPOCH_TIMESTAMP = "1970-01-01T00:00:00Z"
_TO_THE_END = (1 << 31) - 1  # without an end, Arrow 26 fails where a value is null
_DAY_MICROS = 86_400_000_000
_MOST_MICROS = ((1 << 63) - 1) // 1000
# PySpark 4.1 looks for its own geometries in the metadata of a field with this name, and fails where there is none.
_WKB_FIELD = pa.field("wkb", pa.binary(), metadata={"encoding": "WKB"})
_SRID_FIELD = pa.field("srid", pa.int32())


Convert = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True, slots=True)
class FieldType:
    """Field of a column, and the way to its values.

    Attributes:
        reading: what the decoder of the binary log needs to know.
        convert: makes an array of the schema's type of the one that was decoded.
    """

    schema: Schema
    reading: Reading
    convert: Convert


@dataclass(frozen=True, slots=True)
class _Form:
    """A schema without optionality, and the way to it; ``empty`` is in place of a value that is none."""

    schema: Schema
    convert: Convert
    empty: object = None


def field_type(column: Column, modes: TypeModes) -> FieldType:
    """Return the field of a column.

    Raises:
        DataError: its type is not known.
    """
    kind = _kind(column)
    if kind not in _FORMS:
        raise DataError(f"Column {column.name} has the type {column.type}, which is not supported")
    form = _FORMS[kind](column, modes)
    reading = Reading(
        unsigned=column.unsigned,
        charset=(column.charset or "utf8mb4") if kind in _WITH_CHARSET else None,
        labels=column.labels,
        decimals_as_text=modes.decimals is not DecimalMode.PRECISE,
        scale=column.scale or 0,
        compact=_COMPACT.get(kind),
    )
    return FieldType(replace(form.schema, optional=column.optional), reading, _without_nulls(form, column))


def is_known_type(column: Column) -> bool:
    """Return whether records can have a column."""
    return _kind(column) in _FORMS


def _kind(column: Column) -> str:
    """Return the type by which values are read: a text of the character set ``binary`` is one of bytes."""
    is_binary = column.charset == "binary" and column.base_type in _TEXTS
    return "VARBINARY" if is_binary else column.base_type


def _without_nulls(form: _Form, column: Column) -> Convert:
    """Let a value that MySQL allows and Connect does not, such as 0000-00-00, be an empty one where null is not."""
    if column.optional or form.empty is None:
        return form.convert
    return lambda values: form.convert(pc.fill_null(values, form.empty))


def _logical(kind: SchemaType, name: str | None = None, *parameters: tuple[str, str]) -> Schema:
    return Schema(kind, name=name, version=None if name is None else 1, parameters=parameters)


def _cast(kind: pa.DataType) -> Convert:
    return lambda values: values.cast(kind, safe=False)


def _same(values: pa.Array) -> pa.Array:
    return values


def _integer(small: SchemaType, large: SchemaType) -> Callable[[Column, TypeModes], _Form]:
    """Return the form of signed and that of unsigned numbers."""
    return lambda column, _: _number(large if column.unsigned else small)


def _number(kind: SchemaType) -> _Form:
    return _Form(_logical(kind), _cast(_ARROW[kind]))


def _bigint(column: Column, modes: TypeModes) -> _Form:
    if not column.unsigned or modes.unsigned_bigints is BigIntUnsignedMode.LONG:
        return _number(SchemaType.INT64)
    return _Form(_decimal_schema(_UNSIGNED_BIGINT_DIGITS, 0), unscaled_unsigned)


def _decimal_schema(precision: int, scale: int) -> Schema:
    schema = _logical(SchemaType.BYTES, DECIMAL, ("scale", str(scale)), (PRECISION, str(precision)))
    return replace(schema, unscaled=True)


def _decimal(column: Column, modes: TypeModes) -> _Form:
    match modes.decimals:
        case DecimalMode.PRECISE:
            return _Form(_decimal_schema(10 if column.length is None else column.length, column.scale or 0), _same)
        case DecimalMode.DOUBLE:
            return _Form(_logical(SchemaType.FLOAT64), _cast(pa.float64()))
        case DecimalMode.STRING:
            return _Form(_logical(SchemaType.STRING), _same)


def _float(column: Column, _: TypeModes) -> _Form:
    single = column.scale is None and (column.length or 0) <= _FLOAT_BITS
    return _number(SchemaType.FLOAT32 if single else SchemaType.FLOAT64)


def _double(_: Column, __: TypeModes) -> _Form:
    return _number(SchemaType.FLOAT64)


def _bit(column: Column, _: TypeModes) -> _Form:
    if (column.length or 1) == 1:
        return _Form(_logical(SchemaType.BOOLEAN), _same)
    return _Form(_logical(SchemaType.BYTES, "io.debezium.data.Bits", ("length", str(column.length))), _same)


def _boolean(_: Column, __: TypeModes) -> _Form:
    return _Form(_logical(SchemaType.BOOLEAN), _cast(pa.bool_()))


def _text(_: Column, __: TypeModes) -> _Form:
    return _Form(_logical(SchemaType.STRING), _same)


def _json(_: Column, __: TypeModes) -> _Form:
    return _Form(_logical(SchemaType.STRING, "io.debezium.data.Json"), _same, empty="{}")


def _allowed(labels: Sequence[str]) -> str:
    """Return labels in one text, in which commas inside of them are escaped."""
    return ",".join(label.replace(",", r"\,") for label in labels)


def _labelled(name: str) -> Callable[[Column, TypeModes], _Form]:
    def form(column: Column, _: TypeModes) -> _Form:
        return _Form(_logical(SchemaType.STRING, name, ("allowed", _allowed(column.labels))), _same, empty="")

    return form


def _binary(_: Column, modes: TypeModes) -> _Form:
    convert = _BINARY[modes.binary]
    return _Form(_logical(SchemaType.BYTES if convert is _same else SchemaType.STRING), convert)


def _uuid(_: Column, __: TypeModes) -> _Form:
    return _Form(_logical(SchemaType.STRING, "io.debezium.data.Uuid"), _same)


def _year(_: Column, __: TypeModes) -> _Form:
    return _Form(_logical(SchemaType.INT32, "io.debezium.time.Year"), _cast(pa.int32()))


def _timestamp(_: Column, __: TypeModes) -> _Form:
    return _Form(_logical(SchemaType.STRING, "io.debezium.time.ZonedTimestamp"), _same, empty=EPOCH_TIMESTAMP)


def short_timestamps(values: pa.Array) -> pa.Array:
    """Cut zeros at the end of fractions of seconds of times with a zone, which rows of a snapshot do not have."""
    return pc.replace_substring_regex(values, r"(\.\d*[1-9])0+Z$|\.0+Z$", r"\1Z")


def _date(_: Column, modes: TypeModes) -> _Form:
    if modes.times is TimePrecisionMode.CONNECT:
        return _Form(_logical(SchemaType.INT32, DATE), _cast(pa.date32()), empty=0)
    if modes.times is TimePrecisionMode.ISOSTRING:
        return _Form(_logical(SchemaType.STRING, "io.debezium.time.IsoDate"), _iso_date, empty=0)
    return _Form(_logical(SchemaType.INT32, "io.debezium.time.Date"), _same, empty=0)


def _time(_: Column, modes: TypeModes) -> _Form:
    match modes.times:
        case TimePrecisionMode.CONNECT:
            return _Form(_logical(SchemaType.INT32, TIME), _milliseconds_of_day)
        case TimePrecisionMode.NANOSECONDS:
            return _Form(_logical(SchemaType.INT64, "io.debezium.time.NanoTime"), _nanoseconds)
        case TimePrecisionMode.ISOSTRING:
            return _Form(_logical(SchemaType.STRING, "io.debezium.time.IsoTime"), _iso_time)
        case _:
            return _Form(_logical(SchemaType.INT64, "io.debezium.time.MicroTime"), _same)


def _datetime(column: Column, modes: TypeModes) -> _Form:
    match modes.times:
        case TimePrecisionMode.CONNECT:
            return _Form(_logical(SchemaType.INT64, TIMESTAMP), _connect_timestamp, empty=0)
        case TimePrecisionMode.NANOSECONDS:
            return _Form(_logical(SchemaType.INT64, "io.debezium.time.NanoTimestamp"), _nanoseconds, empty=0)
        case TimePrecisionMode.ISOSTRING:
            return _Form(_logical(SchemaType.STRING, "io.debezium.time.IsoTimestamp"), _iso_timestamp, empty=0)
        case TimePrecisionMode.ADAPTIVE_TIME_MICROSECONDS if (column.length or 0) <= 3:
            return _Form(_logical(SchemaType.INT64, "io.debezium.time.Timestamp"), milliseconds, empty=0)
        case _:
            return _Form(_logical(SchemaType.INT64, "io.debezium.time.MicroTimestamp"), _same, empty=0)


def _geometry(name: str, doc: str) -> Callable[[Column, TypeModes], _Form]:
    is_point = name == "Point"
    fields = {
        **({"x": Schema(SchemaType.FLOAT64), "y": Schema(SchemaType.FLOAT64)} if is_point else {}),
        "wkb": Schema(SchemaType.BYTES, optional=is_point),
        "srid": Schema(SchemaType.INT32, optional=True),
    }
    schema = Schema(
        SchemaType.STRUCT,
        name=f"io.debezium.data.geometry.{name}",
        version=1,
        doc=doc,
        fields=tuple(SchemaField(field, kind) for field, kind in fields.items()),
    )
    return lambda _, __: _Form(schema, point_parts if is_point else geometry_parts)


def geometry_parts(values: pa.Array) -> pa.Array:
    """Return the parts of stored geometries: four bytes of SRID, of which 0 is none, then WKB."""
    parts = [pc.binary_slice(values, 4, _TO_THE_END), _srids(values)]
    return pa.StructArray.from_arrays(parts, fields=[_WKB_FIELD, _SRID_FIELD], mask=values.is_null())


def point_parts(values: pa.Array) -> pa.Array:
    """Return the parts of stored points, whose WKB has the coordinates after byte order and type."""
    coordinates = [_fixed(values, start, 8).view(pa.float64()) for start in (9, 17)]
    parts = [*coordinates, pc.binary_slice(values, 4, _TO_THE_END), _srids(values)]
    fields = [pa.field("x", pa.float64()), pa.field("y", pa.float64()), _WKB_FIELD, _SRID_FIELD]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=values.is_null())


def _srids(values: pa.Array) -> pa.Array:
    srids = _fixed(values, 0, 4).view(pa.int32())
    return pc.if_else(pc.equal(srids, 0), pa.scalar(None, pa.int32()), srids)


def _fixed(values: pa.Array, start: int, width: int) -> pa.Array:
    return pc.binary_slice(values, start, start + width).cast(pa.binary(width))


def row_type(schema: Schema) -> pa.DataType:
    """Return the type of structs of values, as they are made for the fields of a schema."""
    return _nullable(to_arrow_type(schema.to_spark()))


def _nullable(kind: pa.DataType) -> pa.DataType:
    if not pa.types.is_struct(kind):
        return kind
    fields = [_WKB_FIELD if one.name == _WKB_FIELD.name else pa.field(one.name, _nullable(one.type)) for one in kind]
    return pa.struct(fields)


def milliseconds(values: pa.Array) -> pa.Array:
    """Return microseconds as whole milliseconds."""
    return _floor_divided(values, 1000)


def _nanoseconds(values: pa.Array) -> pa.Array:
    """Return null for times outside of the years 1677 to 2262, which 64 bits cannot hold, as Java does."""
    fits = pc.less_equal(pc.abs(values), _MOST_MICROS)
    return pc.multiply(pc.if_else(fits, values, pa.scalar(None, pa.int64())), 1000)


def _connect_timestamp(values: pa.Array) -> pa.Array:
    """A Connect Timestamp has milliseconds: what is below is cut."""
    return pc.multiply(milliseconds(values), 1000).cast(pa.timestamp("us", "UTC"))


def _milliseconds_of_day(values: pa.Array) -> pa.Array:
    """Raise DataError for a time that is not one of a day, as Java does."""
    found = pc.min_max(values)
    for value in (found["min"].as_py(), found["max"].as_py()):
        if value is not None and not 0 <= value < _DAY_MICROS:
            raise DataError(
                f"A TIME of {value} microseconds is not a time of a day, which time.precision.mode=connect needs"
            )
    return _floor_divided(values, 1000).cast(pa.int32())


def _iso_date(values: pa.Array) -> pa.Array:
    return _in_utc(values.cast(pa.date32()).cast(pa.string()))


def _iso_time(values: pa.Array) -> pa.Array:
    """Return times of a day: as in Java, hours beyond it begin again, and negative times count from its end."""
    of_day = pc.subtract(values, pc.multiply(_floor_divided(values, _DAY_MICROS), _DAY_MICROS))
    return _in_utc(_without_zeros(of_day.cast(pa.time64("us")).cast(pa.string())))


def _iso_timestamp(values: pa.Array) -> pa.Array:
    texts = pc.replace_substring(values.cast(pa.timestamp("us")).cast(pa.string()), " ", "T")
    return _in_utc(_without_zeros(texts))


def _without_zeros(texts: pa.Array) -> pa.Array:
    """Cut zeros at the end of fractions of seconds, and fractions that have nothing else."""
    return pc.replace_substring_regex(texts, r"\.?0*$", "")


def _in_utc(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(texts, "Z", "")


def _floor_divided(values: pa.Array, by: int) -> pa.Array:
    """Divide towards minus infinity, as ``Math.floorDiv``; Arrow divides towards zero."""
    divided = np.asarray(values.fill_null(0)) // by
    return pa.array(divided, pa.int64(), mask=np.asarray(values.is_null()))


def unscaled_unsigned(values: pa.Array) -> pa.Array:
    """Return unsigned numbers of 64 bits, which int64 wrapped, as unscaled bytes."""
    valid = np.asarray(values.is_valid())
    numbers = np.asarray(values.fill_null(0))
    starts, out = np.empty(len(values) + 1, np.int32), np.empty(9 * len(values), np.uint8)
    size = _write_unsigned(numbers, valid, starts, out)
    nulls = int(np.count_nonzero(~valid))
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little")) if nulls else None
    parts = [bitmap, pa.py_buffer(starts), pa.py_buffer(out[:size])]
    return pa.Array.from_buffers(pa.binary(), len(values), parts, nulls)


@kernel
def _write_unsigned(values: Longs, valid: Flags, starts: Offsets, out: Bytes) -> int:
    limbs = np.zeros(2, np.int64)
    to = 0
    for row in range(values.shape[0]):
        starts[row] = to
        if valid[row]:
            limbs[0] = values[row] & np.int64(0xFFFFFFFF)
            limbs[1] = (values[row] >> np.int64(32)) & np.int64(0xFFFFFFFF)
            to = write_twos_complement(limbs, 2, False, out, to)
    starts[values.shape[0]] = to
    return to


def _base64(values: pa.Array) -> pa.Array:
    return _mapped(values, b64encode)


def _base64_url_safe(values: pa.Array) -> pa.Array:
    return _mapped(values, urlsafe_b64encode)


def _hex(values: pa.Array) -> pa.Array:
    return _mapped(values, hexlify)


def _mapped(values: pa.Array, encode: Callable[[bytes], bytes]) -> pa.Array:
    texts = [None if value is None else encode(value).decode() for value in values.to_pylist()]
    return pa.array(texts, pa.string())


_ARROW = {
    SchemaType.INT16: pa.int16(),
    SchemaType.INT32: pa.int32(),
    SchemaType.INT64: pa.int64(),
    SchemaType.FLOAT32: pa.float32(),
    SchemaType.FLOAT64: pa.float64(),
}
_BINARY: Mapping[BinaryMode, Convert] = {
    BinaryMode.BYTES: _same,
    BinaryMode.BASE64: _base64,
    BinaryMode.BASE64_URL_SAFE: _base64_url_safe,
    BinaryMode.HEX: _hex,
}
_COMPACT = {one.value: one for one in Compact}
_TEXTS = frozenset({"CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "NCHAR", "NVARCHAR"})
_BLOBS = frozenset({"BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"})
_LABELLED = frozenset({"ENUM", "SET"})
_WITH_CHARSET = _TEXTS | _LABELLED | {"JSON"}  # in MariaDB JSON is a text
_GEOMETRIES = frozenset(
    {
        "GEOMETRY",
        "LINESTRING",
        "POLYGON",
        "MULTIPOINT",
        "MULTILINESTRING",
        "MULTIPOLYGON",
        "GEOMETRYCOLLECTION",
        "GEOMCOLLECTION",
    }
)
_INT16, _INT32, _INT64 = SchemaType.INT16, SchemaType.INT32, SchemaType.INT64
_FORMS: Mapping[str, Callable[[Column, TypeModes], _Form]] = {
    **dict.fromkeys(_TEXTS, _text),
    **dict.fromkeys(_BLOBS, _binary),
    **dict.fromkeys(_GEOMETRIES, _geometry("Geometry", "Geometry")),
    **dict.fromkeys(("DECIMAL", "NUMERIC", "DEC", "FIXED"), _decimal),
    **dict.fromkeys(("BOOLEAN", "BOOL"), _boolean),
    **dict.fromkeys(("INT", "INTEGER"), _integer(_INT32, _INT64)),
    **dict.fromkeys(("DOUBLE", "DOUBLE PRECISION", "REAL"), _double),
    "BIT": _bit,
    "TINYINT": _integer(_INT16, _INT16),
    "SMALLINT": _integer(_INT16, _INT32),
    "MEDIUMINT": _integer(_INT32, _INT32),
    "BIGINT": _bigint,
    "FLOAT": _float,
    "JSON": _json,
    "ENUM": _labelled(ENUM),
    "SET": _labelled("io.debezium.data.EnumSet"),
    "UUID": _uuid,
    "INET4": _text,
    "INET6": _text,
    "YEAR": _year,
    "TIMESTAMP": _timestamp,
    "DATE": _date,
    "TIME": _time,
    "DATETIME": _datetime,
    "POINT": _geometry("Point", "Geometry (POINT)"),
}
