"""Finds the schemas in a batch of JSON records, and remembers them (Java: ``JsonConverter.toConnectData``).

A record's head holds its schema. Java writes ``{"schema":…,"payload":…}`` without blanks: the head is the text before
``,"payload":``. Other producers' records are taken apart by Spark's JSON functions, which is slower. The heads of a
batch cost one Spark job; a stream whose records all have one head needs it once.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json import envelope as json_envelope
from connect_dagster.converters.json import quick as json_quick
from connect_dagster.converters.json.decoding import Decoded, JsonDecoding
from connect_dagster.errors import DataError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.java_calls import is_utf8, kept_in_jvm
from connect_dagster.plugin.converter import Decoder
from connect_dagster.plugin.schema import Schema, SchemaType

MALFORMED = "Converting byte[] to Kafka Connect data failed due to serialization error: "
NO_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields.'
    " If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)
_SCHEMA_FIRST = '{"schema":'
_PAYLOAD_NEXT = ',"payload":'


class Form(Enum):
    """Kinds of a record's head; the value marks it in a batch's list of heads."""

    TOMBSTONE = "0"
    BEGINNING = "="  # the text before the payload, as Java orders it
    MEMBER = "m"  # the member "schema", wherever it stands
    NO_ENVELOPE = "-"


@dataclass(frozen=True, slots=True)
class Head:
    """The text before the payload that the records of one schema share."""

    form: Form
    text: str = ""

    @property
    def mark(self) -> str:
        """Return the head in a batch's list of heads."""
        return self.form.value + self.text


class JsonReading:
    """Decoders for records with their schema beside them.

    Args:
        replace_null: read null as the default value.
        cache_size: how many schemas are remembered.
        fixed: schema of all records, which then are payloads alone (``schema.content``).
    """

    def __init__(self, replace_null: bool, cache_size: int, fixed: Schema | None) -> None:
        self._decoding = JsonDecoding(replace_null)
        self._cache_size = cache_size
        self._fixed = fixed
        self._schemas: OrderedDict[Head, Schema | DataError | None] = OrderedDict()
        self._likely: Head | None = None
        self._all_simple = True
        self._decoders: dict[tuple[Head | None, bool, str], Decoder] = {}

    def expected_decoder(self, column: str) -> Decoder | None:
        """Return the decoder of the batch before, where it had only one schema; the same object while it is the same
        one.
        """
        if self._fixed is None and self._likely is None:
            return None
        wanted = (self._likely, self._all_simple, column)
        if wanted not in self._decoders:
            self._decoders = {kept: one for kept, one in self._decoders.items() if kept[:2] == wanted[:2]}
            self._decoders[wanted] = self._make_likely(column)
        return self._decoders[wanted]

    def _make_likely(self, column: str) -> Decoder:
        if self._fixed is not None:
            return self._decode_fixed(self._fixed, F.col(column))
        assert self._likely is not None
        return _decoder_of(self._likely, column, self._decoding.replace_null, self._all_simple)

    def expect(self, record: bytes | None) -> bool:
        """Expect the head of a record; return whether it is a tombstone, or as Java writes it."""
        head = Head(Form.TOMBSTONE) if record is None else _head_of_java(record)
        if head is None or self._fixed is not None:
            return False
        self._all_simple, self._likely = True, head
        return True

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """Return one decoder for each schema in the batch; tombstones have none."""
        value = F.col(column)
        if self._fixed is not None:
            return [self._decode_fixed(self._fixed, value), _tombstones(value)]
        mark = _head(value)
        heads = _distinct(df, mark)
        if any(head.form is Form.BEGINNING and not _is_json(head.text) for head in heads):
            mark = _member_head(value)
            heads = _distinct(df, mark)
        only = heads[0] if len(heads) == 1 else None
        # A search for what was expected: there was a record that is not so simple.
        self._all_simple, self._likely = only is None or only != self._likely, only
        return [self._decoder(head, value, mark) for head in heads]

    def _decoder(self, head: Head, value: Column, mark: Column) -> Decoder:
        if head.form is Form.TOMBSTONE:
            return _tombstones(value)
        matches = _beginning(head, value) if head.form is Form.BEGINNING else mark == head.mark
        if head.form is Form.NO_ENVELOPE:
            return _unreadable(
                matches, F.when(_is_valid(value) | (F.octet_length(value) == 0), NO_ENVELOPE).otherwise(MALFORMED)
            )
        schema = self._schema(head)
        if isinstance(schema, DataError):
            return _unreadable(matches, F.lit(str(schema)))
        try:
            return self._decode(head, schema, value, matches)
        except (DataError, RecursionError, PySparkException) as error:  # of this head's records, no others
            return _unreadable(matches, F.lit(str(error)))

    def _decode(self, head: Head, schema: Schema | None, value: Column, matches: Column) -> Decoder:
        text = value.cast("string")
        read, members = (_rest(head, value), 1) if head.form is Form.BEGINNING else (text, 2)
        counted = F.size(F.json_object_keys(read)) == members
        if head.form is Form.BEGINNING and schema is not None and schema.type in (SchemaType.STRUCT, SchemaType.MAP):
            counted = _is_flat(head, value) | counted
        decoded = _whole(self._payload(schema, read), read, counted).only_where(matches)
        quick = self._quick(head, schema, value)
        if quick is not None:
            decoded = Decoded(F.coalesce(quick, decoded.value), decoded.valid)
        return _checked(schema, decoded, matches, _error(schema, text))

    def _quick(self, head: Head, schema: Schema | None, value: Column) -> Column | None:
        """Return the values of records that are simple, null for others; ``None`` where none is."""
        if head.form is not Form.BEGINNING or schema is None:
            return None
        beginning = head.text + _PAYLOAD_NEXT
        if schema.type is SchemaType.STRING:
            return json_quick.quick_string(value, beginning)
        if json_quick.is_quick(schema):
            return json_quick.quick_struct(self._decoding, schema, value, beginning)
        return None

    def _simple_decoder(self, head: Head, value: Column) -> Decoder | None:
        """Return a decoder of simple records alone, a small expression; ``None`` where there is none."""
        schema = self._schema(head) if head.form is Form.BEGINNING else None
        if not isinstance(schema, Schema):
            return None
        quick = self._quick(head, schema, value)
        return None if quick is None else Decoder(schema, quick, quick.isNotNull())

    def _payload(self, schema: Schema | None, text: Column) -> Decoded:
        return self._decoding.payload_text(text) if schema is None else self._decoding.payload(schema, text)

    def _decode_fixed(self, schema: Schema, value: Column) -> Decoder:
        decoded = bare(self._decoding, schema, value)
        return _checked(schema, decoded, value.isNotNull(), _error(schema, _enveloped(value)))

    def _schema(self, head: Head) -> Schema | DataError | None:
        if head not in self._schemas:
            self._schemas[head] = _read_schema(head)
            if len(self._schemas) > self._cache_size:
                self._schemas.popitem(last=False)
        return self._schemas[head]


@kept_in_jvm(100)
def _decoder_of(head: Head, column: str, replace_null: bool, all_simple: bool) -> Decoder:
    value, reading = F.col(column), JsonReading(replace_null, 1, None)
    simple = reading._simple_decoder(head, value) if all_simple else None
    return simple or reading._decoder(head, value, _member_head(value))


def _head_of_java(record: bytes) -> Head | None:
    try:
        text = record.decode()
    except UnicodeDecodeError:
        return None
    beginning, found, _ = text.partition(_PAYLOAD_NEXT)
    if not (found and beginning.startswith(_SCHEMA_FIRST) and _is_json(beginning)):
        return None
    return Head(Form.BEGINNING, beginning)


def bare(decoding: JsonDecoding, schema: Schema, value: Column) -> Decoded:
    """Return the payloads alone, in a binary column."""
    text = _enveloped(value)
    return _whole(decoding.payload(schema, text), text, F.size(F.json_object_keys(text)) == 1)


def _enveloped(value: Column) -> Column:
    return F.concat(F.lit('{"payload":'), value.cast("string"), F.lit("}"))


class SchemalessReading:
    """Decoders for records that are JSON without a schema: the value stays JSON text. No bytes are null, as in Java."""

    def expected_decoder(self, column: str) -> Decoder:
        """Return the one decoder there is."""
        return _schemaless_decoder(column)

    def expect(self, record: bytes | None) -> bool:
        """Return true: all records have one decoder."""
        return True

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """Return the one decoder for each batch."""
        return [self.expected_decoder(column)]


@kept_in_jvm(10)
def _schemaless_decoder(column: str) -> Decoder:
    value = F.col(column)
    found = F.when(json_quick.is_plain_string(value) | _is_valid(value), value.cast("string"))
    readable = found.isNotNull() | (F.coalesce(F.octet_length(value), F.lit(0)) == 0)
    decoded = F.when(~json_objects.is_null(found), found)
    return Decoder(None, decoded, readable=readable, error=F.lit(MALFORMED))


def _distinct(df: DataFrame, head: Column) -> list[Head]:
    rows = df.select(head.alias("head")).distinct().collect()
    return [Head(Form(row.head[0]), row.head[1:]) for row in rows]


def _head(value: Column) -> Column:
    text = value.cast("string")
    as_java = text.startswith(_SCHEMA_FIRST) & text.contains(_PAYLOAD_NEXT)
    beginning = F.concat(F.lit(Form.BEGINNING.value), F.substring_index(text, _PAYLOAD_NEXT, 1))
    return F.when(as_java, beginning).otherwise(_member_head(value))


def _member_head(value: Column) -> Column:
    text = value.cast("string")
    member = F.coalesce(F.get_json_object(text, "$.schema"), F.lit("null"))
    envelope = F.array_sort(F.json_object_keys(text)) == F.array(F.lit("payload"), F.lit("schema"))
    return (
        F.when(value.isNull(), Form.TOMBSTONE.value)
        .when(envelope, F.concat(F.lit(Form.MEMBER.value), member))
        .otherwise(Form.NO_ENVELOPE.value)
    )


def _beginning(head: Head, value: Column) -> Column:
    return value.startswith(F.lit(bytearray((head.text + _PAYLOAD_NEXT).encode())))


def _rest(head: Head, value: Column) -> Column:
    """Return the object without its schema, which the head has: most of the text is not read again."""
    start = len((head.text + _PAYLOAD_NEXT[:1]).encode())
    return F.concat(F.lit(bytearray(b"{")), F.substring(value, start + 1, 2**31 - 1)).cast("string")


def _is_flat(head: Head, value: Column) -> Column:
    """Return whether the payload is an object without others in it, the last member: so no members need be counted."""
    start = len((head.text + _PAYLOAD_NEXT).encode()) + 1
    inner = F.substring(value, F.lit(start + 1), F.octet_length(value) - F.lit(start + 2)).cast("string")
    opened = F.substring(value, start, 1) == F.lit(bytearray(b"{"))
    closed = value.endswith(F.lit(bytearray(b"}}")))
    return opened & closed & ~inner.contains("{") & ~inner.contains("}")


def _read_schema(head: Head) -> Schema | DataError | None:
    text = head.text.removeprefix(_SCHEMA_FIRST) if head.form is Form.BEGINNING else head.text
    try:
        return json_envelope.from_json(json.loads(text))
    except DataError as error:
        return error
    except RecursionError:
        return DataError("The schema is nested too deeply")


def _is_json(beginning: str) -> bool:
    try:
        json.loads(beginning.removeprefix(_SCHEMA_FIRST))
    except (ValueError, RecursionError):
        return False
    return True


def _checked(schema: Schema | None, decoded: Decoded, matches: Column, error: Column) -> Decoder:
    null_allowed = schema is None or schema.optional
    readable = decoded.value.isNotNull()
    return Decoder(schema, decoded.value, matches, readable | decoded.valid if null_allowed else readable, error)


def _tombstones(value: Column) -> Decoder:
    return Decoder(None, F.lit(None).cast("string"), value.isNull())


def _unreadable(matches: Column, error: Column) -> Decoder:
    return Decoder(None, F.lit(None).cast("string"), matches, F.lit(False), error)


def _whole(decoded: Decoded, text: Column, counted: Column) -> Decoded:
    """Mark values invalid whose text is not UTF-8 or whose object has more members than were read."""
    return decoded.only_where(is_utf8(text) & counted)


def _is_valid(value: Column) -> Column:
    text = value.cast("string")
    return is_utf8(text) & F.try_parse_json(text).isNotNull()


def _error(schema: Schema | None, text: Column) -> Column:
    kind = "null" if schema is None else schema.type.name
    return (
        F.when(~is_utf8(text) | F.try_parse_json(text).isNull(), MALFORMED)
        .when(F.size(F.json_object_keys(text)) != 2, NO_ENVELOPE)
        .when(F.get_json_object(text, "$.payload").isNull(), f"Invalid null value for required {kind} field")
        .otherwise(f"Payload does not fit its schema of type {kind}")
    )
