"""Names of schemas and fields that Avro allows: ``schema.name.adjustment.mode``, ``field.name.adjustment.mode``.

Debezium: ``SchemaNameAdjuster``. Avro's names have ASCII letters, digits and underscores; those of schemas also have
dots between parts. Characters are those of Java: one beyond U+FFFF counts as two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class NameAdjustment(Enum):
    """The values of both options."""

    NONE = "none"
    AVRO = "avro"
    AVRO_UNICODE = "avro_unicode"


@dataclass(frozen=True, slots=True)
class _Allowed:
    first: re.Pattern[str]
    other: re.Pattern[str]


def _allowed(first: str, other: str) -> _Allowed:
    return _Allowed(re.compile(f"[{first}]"), re.compile(f"[{other}]"))


# With avro_unicode an underscore begins an escape, so that it is not allowed by itself.
_SCHEMAS = {
    NameAdjustment.AVRO: _allowed("A-Za-z_", "A-Za-z0-9_."),
    NameAdjustment.AVRO_UNICODE: _allowed("A-Za-z", "A-Za-z0-9."),
}
_FIELDS = {
    NameAdjustment.AVRO: _allowed("A-Za-z_", "A-Za-z0-9_"),
    NameAdjustment.AVRO_UNICODE: _allowed("A-Za-z", "A-Za-z0-9"),
}


def adjusted_schema_name(name: str, mode: NameAdjustment) -> str:
    """Return the name of a schema; ``avro_unicode`` has the code of a character, such as ``_u002d``, in its place."""
    return name if mode is NameAdjustment.NONE else _adjusted(name, mode, _SCHEMAS[mode])


def adjusted_field_name(name: str, mode: NameAdjustment) -> str:
    """Return the name of a field."""
    return name if mode is NameAdjustment.NONE else _adjusted(name, mode, _FIELDS[mode])


def _adjusted(name: str, mode: NameAdjustment, allowed: _Allowed) -> str:
    units = _utf16_units(name)
    return "".join(
        unit if (allowed.other if place else allowed.first).match(unit) else _replacement(unit, mode, place)
        for place, unit in enumerate(units)
    )


def _replacement(unit: str, mode: NameAdjustment, place: int) -> str:
    if mode is NameAdjustment.AVRO:
        return f"_{unit}" if place == 0 and unit.isdecimal() else "_"
    code = f"{ord(unit):x}"
    return f"_u{code if len(code) > 2 else '00' + code}"


def _utf16_units(text: str) -> list[str]:
    data = text.encode("utf-16-be", "surrogatepass")
    return [chr(int.from_bytes(data[at : at + 2], "big")) for at in range(0, len(data), 2)]
