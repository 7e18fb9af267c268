"""Schemas and payloads of JsonConverter's envelope, made by a seeded generator."""

import base64
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

from tests.conformance.converter_cases import DATE, TIME, TIMESTAMP, decimal

Json = dict[str, Any]

_TEXTS = ("", "plain", 'quote " and \\', "세번째 😀", "\x00\x1f\x7f", "</script>\u2028", "null", "1.0")
_DAYS = (-719162, 2932896)  # the years 1 to 9999
_NAMES = ("a", "B", "with blank ", "점.", '"', "payload")
_KEYS = ("int8", "int16", "int32", "int64", "boolean")


def _bits(size: int) -> Callable[[random.Random], int]:
    """Whole numbers, the outermost more often than chance would have it."""
    least, most = -(2 ** (size - 1)), 2 ** (size - 1) - 1
    return lambda chance: chance.choice((least, most, 0, -1, chance.randint(least, most)))


def _float(chance: random.Random) -> float:
    """A number that 32 bits hold; no negative zero, whose sign Java's envelope loses."""
    (value,) = struct.unpack(">f", struct.pack(">f", chance.uniform(-1, 1) * 10.0 ** chance.randint(-30, 30)))
    return float(value)


def _double(chance: random.Random) -> float:
    return chance.choice((0.0, 0.1, 1e7, 123456789.125, chance.uniform(-1, 1) * 10.0 ** chance.randint(-300, 300)))


def _text(chance: random.Random) -> str:
    made = "".join(chr(chance.choice((chance.randint(32, 126), chance.randint(0xA1, 0xD7FF)))) for _ in range(5))
    return chance.choice((*_TEXTS, made))


def _bytes(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(chance.randint(0, 9))).decode()


def _unscaled(chance: random.Random) -> str:
    number = chance.choice((0, -1, 10**38 - 1, 1 - 10**38, chance.randint(-(10 ** chance.randint(1, 37)), 10**20)))
    size = (number + (number < 0)).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, signed=True)).decode()


_SCALARS: dict[str, Callable[[random.Random], Any]] = {
    "int8": _bits(8),
    "int16": _bits(16),
    "int32": _bits(32),
    "int64": _bits(64),
    "float": _float,
    "double": _double,
    "boolean": lambda chance: chance.random() < 0.5,
    "string": _text,
    "bytes": _bytes,
}
_LOGICAL: Sequence[tuple[Json, Callable[[random.Random], Any]]] = (
    (DATE, lambda chance: chance.randint(*_DAYS)),
    (TIME, lambda chance: chance.randint(0, 86_400_000)),
    (TIMESTAMP, lambda chance: chance.randint(_DAYS[0] * 86_400_000, _DAYS[1] * 86_400_000)),
)


class Generator:
    """Makes a schema and payloads for it.

    Args:
        seed: of all chance.
        names: that fields may have, before a number.
    """

    def __init__(self, seed: int, names: Sequence[str] = _NAMES) -> None:
        self._chance = random.Random(seed)
        self._names = names

    def row(self, fields: int, depth: int = 3) -> Json:
        """The schema of a struct that has a field of each kind in turn."""
        kinds = ("scalar", "scalar", "logical", "decimal", "array", "map", "pairs", "struct")
        made = [
            {**self._schema(kinds[i % len(kinds)], depth), "field": f"{self._chance.choice(self._names)}{i}"}
            for i in range(fields)
        ]
        return {"type": "struct", "fields": made, "optional": False, "name": f"row{self._chance.getrandbits(40)}"}

    def _schema(self, kind: str, depth: int) -> Json:
        chance = self._chance
        more: Json = {"optional": chance.random() < 0.6}
        if chance.random() < 0.2:
            more |= {
                "version": chance.randint(0, 9),
                "doc": _text(chance),
                "parameters": {"b": "1", "a": _text(chance)},
            }
        inner = self._any(depth - 1)
        match kind:
            case "logical":
                logical, make = chance.choice(_LOGICAL)
                schema = {**more, **logical}
                return schema | ({"default": make(chance)} if chance.random() < 0.3 else {})
            case "decimal":
                schema = {**more, **decimal(chance.randint(0, 38))}
                return schema | ({"default": _unscaled(chance)} if chance.random() < 0.3 else {})
            case "array":
                return {"type": "array", "items": inner, **more}
            case "map":
                return {"type": "map", "keys": {"type": "string"}, "values": inner, **more}
            case "pairs":
                return {"type": "map", "keys": {"type": chance.choice(_KEYS)}, "values": inner, **more}
            case "struct":
                return {**self.row(3, depth - 1), **more}
            case _:
                name = chance.choice(list(_SCALARS))
                schema = {"type": name, **more}
                return schema | ({"default": _SCALARS[name](chance)} if chance.random() < 0.3 else {})

    def _any(self, depth: int) -> Json:
        kinds = ("scalar", "logical", "decimal", *(("array", "map", "struct") if depth > 0 else ()))
        return self._schema(self._chance.choice(kinds), depth) if depth >= 0 else {"type": "string"}

    def payload(self, schema: Json) -> Any:
        """A payload; null now and then, where it must not be one time in 300."""
        chance = self._chance
        nulls = 0.25 if schema.get("optional") or "default" in schema else 1 / 300
        if chance.random() < nulls:
            return None
        for logical, make in _LOGICAL:
            if schema.get("name") == logical["name"]:
                return make(chance)
        match schema["type"]:
            case "struct":
                return {field["field"]: self.payload(field) for field in schema["fields"]}
            case "array":
                return [self.payload(schema["items"]) for _ in range(chance.randint(0, 3))]
            case "map" if schema["keys"]["type"] == "string":
                # One entry: Java's hash maps give several in an order of their own.
                return {_text(chance): self.payload(schema["values"]) for _ in range(chance.randint(0, 1))}
            case "map":
                kind = schema["keys"]["type"]
                return [[_SCALARS[kind](chance), self.payload(schema["values"])] for _ in range(chance.randint(0, 1))]
            case "bytes" if "name" in schema:
                return _unscaled(chance)
            case scalar:
                return _SCALARS[scalar](chance)
