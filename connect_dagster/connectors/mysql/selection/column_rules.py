"""Columns whose values are masked, hashed or cut, or whose type in MySQL goes into schemas.

Debezium: ``ColumnMappers``. The options have their parameters in their names, such as
``column.truncate.to.20.chars``. Of several rules for a column the first one counts, in the order of :data:`_KINDS`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.connectors.mysql.schema.model import Column
from connect_dagster.connectors.mysql.selection.regex_lists import RegexList
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConfigError
from connect_dagster.java.object_stream import serialized_text

PREFIXES = ("column.truncate.to.", "column.mask.with.", "column.mask.hash.")
OF_COLUMN, OF_TYPE = "column.propagate.source.type", "datatype.propagate.source.type"
_SOURCE = "__debezium.source.column"
_TEXTS = frozenset(
    {"CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "NCHAR", "NVARCHAR", "ENUM", "SET"}
)
_BEYOND_BMP = r"[\x{10000}-\x{10FFFF}]"
_MOST_CHARACTERS = (1 << 31) - 1
_ALGORITHMS: Mapping[str, str] = {
    "MD5": "md5",
    "SHA": "sha1",
    "SHA1": "sha1",
    "SHA-1": "sha1",
    "SHA-224": "sha224",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
    "SHA-512/224": "sha512_224",
    "SHA-512/256": "sha512_256",
    "SHA3-224": "sha3_224",
    "SHA3-256": "sha3_256",
    "SHA3-384": "sha3_384",
    "SHA3-512": "sha3_512",
}
"""Java's names of algorithms (``MessageDigest``) and Python's."""

Values: TypeAlias = pa.Array
Convert = Callable[[Values], Values]
Parameters = tuple[tuple[str, str], ...]


class Effect(Protocol):
    """Changes a column that a rule is for."""

    def parameters(self, column: Column) -> Parameters:
        """Return the parameters that the schema of the column's field gets."""

    def convert(self, column: Column) -> Convert | None:
        """Return the change of the column's values, which are those of records; ``None`` for none."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut texts and bytes to a length.

    Attributes:
        length: the most characters, of Java, or bytes.
    """

    length: int

    def parameters(self, column: Column) -> Parameters:
        return (("truncateLength", str(self.length)),) if self._may_cut(column) else ()

    def convert(self, column: Column) -> Convert | None:
        return self._cut if self._may_cut(column) else None

    def _may_cut(self, column: Column) -> bool:
        return column.length is None or column.length > self.length

    def _cut(self, values: Values) -> Values:
        if pa.types.is_string(values.type):
            return truncated(values, self.length)
        return pc.binary_slice(values, 0, self.length) if pa.types.is_binary(values.type) else values


@dataclass(frozen=True, slots=True)
class Mask:
    """Replace texts, and nulls as well, by asterisks."""

    length: int

    def parameters(self, column: Column) -> Parameters:
        return (("masked", "true"),)

    def convert(self, column: Column) -> Convert | None:
        if column.base_type not in _TEXTS:
            return None
        return lambda values: pa.repeat(pa.scalar("*" * self.length), len(values))


@dataclass(frozen=True, slots=True)
class Hash:
    """Replace texts by the hexadecimal digits of a hash of salt and text, cut to the column's length.

    Attributes:
        algorithm: Python's name.
        salt: goes before the text.
        of_java_object: whether the bytes of a text are those of Java's serialization, not UTF-8.
    """

    algorithm: str
    salt: str
    of_java_object: bool

    def parameters(self, column: Column) -> Parameters:
        return (("masked", "true"),)

    def convert(self, column: Column) -> Convert | None:
        if column.base_type not in _TEXTS:
            return None
        length = column.length or _MOST_CHARACTERS
        return lambda values: _each_distinct(values, lambda text: self.hashed(text)[:length])

    def hashed(self, text: str) -> str:
        """Return the digits of a text."""
        content = serialized_text(text) if self.of_java_object else text.encode("utf-8", "replace")
        return hashlib.new(self.algorithm, self.salt.encode() + content, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Propagate:
    """Put the column's type in MySQL into the schema, and its name there."""

    def parameters(self, column: Column) -> Parameters:
        length = () if column.length is None else ((f"{_SOURCE}.length", str(column.length)),)
        scale = () if column.scale is None else ((f"{_SOURCE}.scale", str(column.scale)),)
        return ((f"{_SOURCE}.type", column.type.upper()), *length, *scale, (f"{_SOURCE}.name", column.name))

    def convert(self, column: Column) -> Convert | None:
        return None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Leave a column as it is."""

    def parameters(self, column: Column) -> Parameters:
        return ()

    def convert(self, column: Column) -> Convert | None:
        return None


@dataclass(frozen=True, slots=True)
class _Rule:
    names: RegexList
    effect: Effect
    by_type: bool = False

    def matching(self, table: TableId, columns: Sequence[Column]) -> list[Column]:
        full = [f"{table}.{column.type if self.by_type else column.name}" for column in columns]
        matched = set(self.names.matching(list(dict.fromkeys(full))))
        return [column for column, name in zip(columns, full, strict=True) if name in matched]


@dataclass(frozen=True, slots=True)
class ColumnRules:
    """The rules of a connector, the one that counts first."""

    rules: tuple[_Rule, ...] = ()

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> ColumnRules:
        """Return the rules in a connector's properties.

        Raises:
            ConfigError: a length, an algorithm or a regular expression is wrong.
        """
        wrong = next(wrong_rules(properties), None)
        if wrong is not None:
            raise wrong
        return cls(tuple(rule for kind in _KINDS for rule in _rules_of(kind, properties)))

    def of_table(self, table: TableId, columns: Sequence[Column]) -> tuple[Effect, ...]:
        """Return what becomes of each column of a table.

        Raises:
            CostlyPatternError: a match takes too long.
        """
        found: dict[str, Effect] = {}
        for rule in self.rules:
            left = [column for column in columns if column.name not in found]
            found.update((column.name, rule.effect) for column in rule.matching(table, left))
        return tuple(found.get(column.name, Unchanged()) for column in columns)


def wrong_rules(properties: Mapping[str, str]) -> Iterator[ConfigError]:
    """Yield an error for each property that is meant to be a rule and is not one."""
    for key, value in properties.items():
        kind = next((kind for kind in _KINDS if kind.key.fullmatch(key)), None)
        try:
            if kind is not None:
                _rule(kind, key, value)
            elif key.startswith(PREFIXES):
                raise ConfigError(
                    f"{shown_key(key)} is not an option: it would be {_forms(key)}", name=key, value=value
                )
        except ConfigError as error:
            yield ConfigError(error.message, name=key, value=value)


def shown_key(key: str) -> str:
    """Return the name of an option as messages may show it: a salt is a secret."""
    before, mark, _ = key.partition(".with.salt.")
    return f"{before}{mark}[hidden]" if mark else key


def truncated(values: Values, length: int) -> Values:
    """Return texts cut to a number of Java's characters: an emoji is two, and half of one becomes ``?``."""
    if pc.any(pc.match_substring_regex(values, _BEYOND_BMP)).as_py():
        return _each_distinct(values, lambda text: _cut_utf16(text, length))
    return pc.utf8_slice_codeunits(values, 0, length)


def _cut_utf16(text: str, length: int) -> str:
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * length]
    cut = units.decode("utf-16-le", "surrogatepass")
    return cut.encode("utf-8", "replace").decode()


def _each_distinct(values: Values, change: Callable[[str], str]) -> Values:
    encoded = values.dictionary_encode()
    changed = pa.array([change(text) for text in encoded.dictionary.to_pylist()], pa.string())
    return changed.take(encoded.indices)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Options of one kind: the pattern of their names, and what the rest of the name means."""

    key: re.Pattern[str]
    form: str
    effect: Callable[[str, re.Match[str]], Effect]
    by_type: bool = False


def _truncate(key: str, match: re.Match[str]) -> Effect:
    return Truncate(_length(key, match[1]))


def _mask(key: str, match: re.Match[str]) -> Effect:
    return Mask(_length(key, match[1]))


def _hash(key: str, match: re.Match[str]) -> Effect:
    return Hash(_algorithm(key, match[1]), match[2], of_java_object=True)


def _hash_v2(key: str, match: re.Match[str]) -> Effect:
    return Hash(_algorithm(key, match[1]), match[2], of_java_object=False)


def _propagate(key: str, match: re.Match[str]) -> Effect:
    return Propagate()


def _length(key: str, digits: str) -> int:
    length = int(digits[:12])
    if length > _MOST_CHARACTERS:
        raise ConfigError(f"{key}: the number of characters is at most {_MOST_CHARACTERS}", name=key)
    return length


def _algorithm(key: str, name: str) -> str:
    found = _ALGORITHMS.get(name.upper(), "")
    if found not in hashlib.algorithms_available:
        known = ", ".join(java for java, python in _ALGORITHMS.items() if python in hashlib.algorithms_available)
        raise ConfigError(f"{shown_key(key)}: {name} is not an algorithm that is known here: {known}", name=key)
    return found


_HASHED = r"([^.]+)\.with\.salt\.(.+)"
_KINDS = (
    _Kind(re.compile(r"column\.truncate\.to\.([0-9]+)\.chars"), "column.truncate.to.<number>.chars", _truncate),
    _Kind(re.compile(r"column\.mask\.with\.([0-9]+)\.chars"), "column.mask.with.<number>.chars", _mask),
    _Kind(re.compile(re.escape(OF_COLUMN)), OF_COLUMN, _propagate),
    _Kind(re.compile(re.escape(OF_TYPE)), OF_TYPE, _propagate, by_type=True),
    _Kind(re.compile(rf"column\.mask\.hash\.{_HASHED}"), "column.mask.hash.<algorithm>.with.salt.<salt>", _hash),
    _Kind(
        re.compile(rf"column\.mask\.hash\.v2\.{_HASHED}"), "column.mask.hash.v2.<algorithm>.with.salt.<salt>", _hash_v2
    ),
)


def _rules_of(kind: _Kind, properties: Mapping[str, str]) -> Iterator[_Rule]:
    for key, value in properties.items():
        if kind.key.fullmatch(key):
            yield _rule(kind, key, value)


def _rule(kind: _Kind, key: str, value: str) -> _Rule:
    match = kind.key.fullmatch(key)
    assert match is not None
    return _Rule(RegexList.parse(shown_key(key), value), kind.effect(key, match), kind.by_type)


def _forms(key: str) -> str:
    prefix = next(prefix for prefix in PREFIXES if key.startswith(prefix))
    return " or ".join(kind.form for kind in _KINDS if kind.form.startswith(prefix))
