"""Parses typed values from text, as in headers and literals of configurations (Java: ``Values.parseString``).

``12`` is an INT8, ``1.5`` a FLOAT32, ``[1,300]`` an array of INT16, ``{"a":true}`` a map, ``2022-01-21`` a Date, and
everything else a string. Times are read in UTC, where Java takes its machine's time zone in spite of the ``Z``.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from connect_dagster.errors import DataError
from connect_dagster.java import iso_dates, numbers
from connect_dagster.java.numbers import big_decimal
from connect_dagster.plugin.schema import DATE, DECIMAL, STRING_SCHEMA, TIME, TIMESTAMP, Schema, SchemaType

_DELIMITERS = frozenset(':,{}[]"')
_JAVA_WHITESPACE = "".join(map(chr, range(33)))
_INTEGERS = (SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64)
_NUMBERS = (*_INTEGERS, SchemaType.FLOAT32, SchemaType.FLOAT64)
_LITERALS: Mapping[str, bool] = {"true": True, "false": False}

DATE_SCHEMA = Schema(SchemaType.INT32, name=DATE, version=1)
TIME_SCHEMA = Schema(SchemaType.INT32, name=TIME, version=1)
TIMESTAMP_SCHEMA = Schema(SchemaType.INT64, name=TIMESTAMP, version=1)

_TEMPORAL: Mapping[int, tuple[Schema, Callable[[str], int | None]]] = {
    len("hh:mm:ss.SSSZ"): (TIME_SCHEMA, iso_dates.time),
    len("yyyy-MM-ddThh:mm:ss.SSSZ"): (TIMESTAMP_SCHEMA, iso_dates.timestamp),
    len("yyyy-MM-dd"): (DATE_SCHEMA, iso_dates.date),
}


def parse_string(text: str | None) -> tuple[Schema | None, Any]:
    """Schema and value in Python's terms; of an array or a map without a common type of its parts, no schema of them.

    Args:
        text: ``None`` and ``null`` have no schema and no value.
    """
    if not text:
        return (None, None) if text is None else (STRING_SCHEMA, text)
    parsed = _ValueParser(_Tokens(text)).parse(embedded=False)
    if parsed is None:
        return None, None
    try:
        return parsed.schema, _in_python(parsed.schema, parsed.value)
    except (OverflowError, ValueError):
        # A date beyond the year 9999, which Python does not have.
        return STRING_SCHEMA, text


@dataclass(frozen=True, slots=True)
class _Moment:
    """A moment, which Java keeps in a ``java.util.Date``."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class _Map:
    """A Java map: its keys may be lists, and 1 and 1.0 are two of them."""

    pairs: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True, slots=True)
class _Parsed:
    schema: Schema
    value: Any


class _Tokens:
    """Text cut at delimiters that no backslash escapes (Java: ``Values.Parser``)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self._peeked: str | None = None

    def mark(self) -> int:
        """Return the start of the next token."""
        return self._at - len(self._peeked or "")

    def rewind(self, mark: int) -> None:
        """Go on from there."""
        self._at, self._peeked = mark, None

    def has_next(self) -> bool:
        """Return whether a token is left."""
        return self._peeked is not None or self._at < len(self.text)

    def next(self) -> str:
        """Return the next token."""
        token, self._peeked = self._peeked, None
        return self._cut() if token is None else token

    def next_ones(self, count: int) -> str | None:
        """So many tokens in one; ``None``, and none taken, when there are fewer."""
        start = self.mark()
        for _ in range(count):
            if not self.has_next():
                self.rewind(start)
                return None
            self.next()
        return self.text[start : self._at]

    def consume(self, expected: str) -> bool:
        """Take the next token if it is this, blank ones before it left out."""
        if self._peeked is None:
            if not self.has_next():
                return False
            self._peeked = self._cut()
        while not _trimmed(self._peeked) and self._at < len(self.text):
            self._peeked = self._cut()
        if _trimmed(self._peeked) != expected:
            return False
        self._peeked = None
        return True

    def _cut(self) -> str:
        start, escaped = self._at, False
        while self._at < len(self.text):
            char = self.text[self._at]
            if char in _DELIMITERS and not escaped:
                if start == self._at:
                    self._at += 1
                break
            escaped = char == "\\" and not escaped
            self._at += 1
        return self.text[start : self._at]


class _ValueParser:
    """Java: ``Values.ValueParser``."""

    def __init__(self, tokens: _Tokens) -> None:
        self._tokens = tokens

    def parse(self, *, embedded: bool) -> _Parsed | None:
        """Return the next value; ``None`` for null and at the end."""
        if not self._tokens.has_next():
            return None
        if embedded and self._tokens.consume('"'):
            return self._quoted()
        if self._is_literal("null", embedded):
            return None
        for literal, value in _LITERALS.items():
            if self._is_literal(literal, embedded):
                return _Parsed(Schema(SchemaType.BOOLEAN), value)
        return self._collection() or self._scalar(embedded)

    def _is_literal(self, literal: str, embedded: bool) -> bool:
        start = self._tokens.mark()
        if self._tokens.consume(literal) and (embedded or not self._tokens.has_next()):
            return True
        self._tokens.rewind(start)
        return False

    def _collection(self) -> _Parsed | None:
        start = self._tokens.mark()
        try:
            if self._tokens.consume("["):
                return self._array()
            if self._tokens.consume("{"):
                return self._map()
        except DataError:
            self._tokens.rewind(start)
        return None

    def _scalar(self, embedded: bool) -> _Parsed:
        raw = self._tokens.next()
        token = _trimmed(raw)
        if not token:
            return _Parsed(STRING_SCHEMA, raw)
        is_digit = token[0].isdecimal() and ord(token[0]) <= 0xFFFF
        if is_digit and (moment := self._temporal(token)) is not None:
            return moment
        if is_digit or token[0] in "+-":
            number = big_decimal(token)
            if number is not None and -(2**31) <= _scale(number) < 2**31:
                return _number(number)
        if embedded:
            raise DataError("Failed to parse embedded value")
        return _Parsed(STRING_SCHEMA, self._tokens.text)

    def _temporal(self, token: str) -> _Parsed | None:
        """Colons cut times into five tokens."""
        start = self._tokens.mark()
        rest = self._tokens.next_ones(4)
        if rest is not None and (moment := _moment(token + rest)) is not None:
            return moment
        self._tokens.rewind(start)
        return _moment(token)

    def _quoted(self) -> _Parsed:
        parts = []
        while self._tokens.has_next() and not self._tokens.consume('"'):
            parts.append(self._tokens.next())
        content = "".join(parts)
        return _moment(content) or _Parsed(STRING_SCHEMA, content)

    def _array(self) -> _Parsed:
        items: list[Any] = []
        common = _Common()
        while self._tokens.has_next():
            if self._tokens.consume("]"):
                schema = Schema(SchemaType.ARRAY, value_schema=common.schema)
                return _Parsed(schema, [_aligned(common.schema, item) for item in items])
            if self._tokens.consume(","):
                raise DataError(f"Unable to parse an empty array element: {self._tokens.text}")
            item = self.parse(embedded=True)
            common.merge(item)
            items.append(None if item is None else item.value)
            here = self._tokens.mark()
            if self._tokens.consume("]"):
                self._tokens.rewind(here)
            elif not self._tokens.consume(","):
                raise DataError("Array elements missing ',' delimiter")
        raise DataError(f"Array is missing terminating ']': {self._tokens.text}")

    def _map(self) -> _Parsed:
        pairs: dict[Hashable, tuple[Any, Any]] = {}
        keys, values = _Common(), _Common()
        while self._tokens.has_next():
            if self._tokens.consume("}"):
                return _map_of(keys.schema, values.schema if keys.schema else None, pairs)
            if self._tokens.consume(","):
                raise DataError(f"Unable to parse a map entry with no key or value: {self._tokens.text}")
            key = self.parse(embedded=True)
            if key is None:
                raise DataError(f"Map entry may not have a null key: {self._tokens.text}")
            if not self._tokens.consume(":"):
                raise DataError(f"Map entry is missing ':' in {self._tokens.text}")
            value = self.parse(embedded=True)
            _put(pairs, key.value, None if value is None else value.value)
            self._tokens.consume(",")
            keys.merge(key)
            values.merge(value)
        raise DataError(f"Map is missing terminating '}}': {self._tokens.text}")


@dataclass(slots=True)
class _Common:
    """The schema that all parts have or can be given (Java: ``SchemaMerger``); ``None`` when there is none."""

    schema: Schema | None = None
    compatible: bool = field(default=True)

    def merge(self, latest: _Parsed | None) -> None:
        """Include one more part; null has no effect."""
        if latest is None or not self.compatible:
            return
        self.schema = latest.schema if self.schema is None else _merged(self.schema, latest.schema)
        self.compatible = self.schema is not None


def _merged(one: Schema, other: Schema) -> Schema | None:
    if one.type is other.type:
        return other
    if one.type not in _NUMBERS or other.type not in _NUMBERS:
        return None
    return one if _NUMBERS.index(one.type) > _NUMBERS.index(other.type) else other


def _map_of(key: Schema | None, value: Schema | None, pairs: Mapping[Hashable, tuple[Any, Any]]) -> _Parsed:
    aligned: dict[Hashable, tuple[Any, Any]] = {}
    for name, item in pairs.values():
        _put(aligned, _aligned(key, name), _aligned(value, item))
    return _Parsed(Schema(SchemaType.MAP, key_schema=key, value_schema=value), _Map(tuple(aligned.values())))


def _put(pairs: dict[Hashable, tuple[Any, Any]], key: Any, value: Any) -> None:
    same = repr((type(key), key))
    pairs[same] = (pairs[same][0] if same in pairs else key, value)


def _aligned(schema: Schema | None, value: Any) -> Any:
    """Return a part in the type that all of them have (Java: ``Values.convertTo``)."""
    if schema is None:
        return value
    if value is None:
        raise DataError("Unable to convert a null value to a schema that requires a value")
    if schema.type not in _NUMBERS:
        return value
    if schema.name in _UNITS:
        return value if isinstance(value, _Moment) else _Moment(value * _UNITS[schema.name])
    if isinstance(value, _Moment):
        raise DataError(f"Unable to convert {value} to a number")
    if schema.type is SchemaType.FLOAT32:
        return numbers.float32(float(value))
    return float(value) if schema.type is SchemaType.FLOAT64 else value


_UNITS: Mapping[str | None, int] = {DATE: iso_dates.DAY_MS, TIME: 1, TIMESTAMP: 1}


def _scale(number: Decimal) -> int:
    return -int(number.as_tuple().exponent)


def _number(decimal: Decimal) -> _Parsed:
    """Return the smallest type that has the number (Java: ``parseAsNumber``)."""
    if (whole := _whole(decimal)) is not None:
        return _Parsed(Schema(_smallest(whole)), whole)
    scale, short, long = _scale(decimal), numbers.to_float32(decimal), float(decimal)
    if scale != 0 and abs(short) != float("inf"):
        return _Parsed(Schema(SchemaType.FLOAT32), short)
    if scale != 0 and abs(long) != float("inf"):
        return _Parsed(Schema(SchemaType.FLOAT64), long)
    return _Parsed(Schema(SchemaType.BYTES, name=DECIMAL, version=1, parameters=(("scale", str(scale)),)), decimal)


def _whole(decimal: Decimal) -> int | None:
    if decimal != 0 and not 1 <= decimal.copy_abs() <= Decimal("1e19"):
        return None
    whole = int(decimal)
    return whole if whole == decimal and -(2**63) <= whole < 2**63 else None


def _smallest(number: int) -> SchemaType:
    return next(kind for kind, bits in zip(_INTEGERS, (7, 15, 31, 63), strict=True) if -(2**bits) <= number < 2**bits)


def _moment(token: str) -> _Parsed | None:
    text = token.replace("\\:", ":")
    found = _TEMPORAL.get(len(text.encode("utf-16-le", "surrogatepass")) // 2)
    if found is None:
        return None
    schema, read = found
    milliseconds = read(text)
    return None if milliseconds is None else _Parsed(schema, _Moment(milliseconds))


def _in_python(schema: Schema | None, value: Any) -> Any:
    if isinstance(value, _Moment):
        return _moment_in_python(None if schema is None else schema.name, value.milliseconds)
    if isinstance(value, list):
        part = None if schema is None else schema.value_schema
        return [_in_python(part, item) for item in value]
    if isinstance(value, _Map):
        key, item = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
        return {_as_key(_in_python(key, name)): _in_python(item, one) for name, one in value.pairs}
    return value


def _moment_in_python(name: str | None, milliseconds: int) -> Any:
    if name == TIME:
        return milliseconds
    moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=milliseconds)
    return moment.date() if name == DATE else moment


def _as_key(value: Any) -> Any:
    """Return a list or map as a key of a Python dict."""
    if isinstance(value, list):
        return tuple(map(_as_key, value))
    return tuple((key, _as_key(one)) for key, one in value.items()) if isinstance(value, dict) else value


def _trimmed(text: str) -> str:
    return text.strip(_JAVA_WHITESPACE)
