"""Collations of MySQL and MariaDB, and the character sets that they belong to."""

from __future__ import annotations

from collections.abc import Mapping

BINARY = "binary"
"""Name of the collation and of the character set of bytes."""

_NOT_PADDED = 1024
_END_OF_NOT_PADDED = 2048

# Numbers of collations, ``from-to`` where several in a row belong to a character set. Above 575 they are MariaDB's.
_NUMBERS: Mapping[str, str] = {
    "armscii8": "32 64",
    "ascii": "11 65",
    "big5": "1 84",
    BINARY: "63",
    "cp1250": "26 34 44 66 99",
    "cp1251": "14 23 50-52",
    "cp1256": "57 67",
    "cp1257": "29 58-59",
    "cp850": "4 80",
    "cp852": "40 81",
    "cp866": "36 68",
    "cp932": "95-96",
    "dec8": "3 69",
    "eucjpms": "97-98",
    "euckr": "19 85",
    "gb18030": "248-250",
    "gb2312": "24 86",
    "gbk": "28 87",
    "geostd8": "92-93",
    "greek": "25 70",
    "hebrew": "16 71",
    "hp8": "6 72",
    "keybcs2": "37 73",
    "koi8r": "7 74",
    "koi8u": "22 75",
    "latin1": "5 8 15 31 47-49 94",
    "latin2": "2 9 21 27 77",
    "latin5": "30 78",
    "latin7": "20 41-42 79",
    "macce": "38 43",
    "macroman": "39 53",
    "sjis": "13 88",
    "swe7": "10 82",
    "tis620": "18 89",
    "ucs2": "35 90 128-151 159 640-642 2560-2815",
    "ujis": "12 91",
    "utf16": "54-55 101-124 672-674 2816-3071",
    "utf16le": "56 62",
    "utf32": "60-61 160-183 736-738 3072-3327",
    "utf8mb3": "33 76 83 192-215 223 576-578 2048-2303",
    "utf8mb4": "45-46 224-247 255-323 608-610 2304-2559",
}


def _by_number() -> dict[int, str]:
    charsets: dict[int, str] = {}
    for charset, numbers in _NUMBERS.items():
        for part in numbers.split():
            first, _, last = part.partition("-")
            charsets |= dict.fromkeys(range(int(first), int(last or first) + 1), charset)
    return charsets


_BY_NUMBER = _by_number()
_CHARSETS = frozenset({*_NUMBERS, "utf8"})


def charset_of_collation(name: str) -> str | None:
    """Return the character set of a collation, which its name begins with.

    It is ``None`` for a collation of any character set, such as MariaDB's ``uca1400_ai_ci``.
    """
    charset = name.lower().partition("_")[0]
    return charset if charset in _CHARSETS else None


def charset_of_number(number: int) -> str | None:
    """Return the character set of a collation by its number; ``None`` for one that is not known."""
    padded = number - _NOT_PADDED if _NOT_PADDED <= number < _END_OF_NOT_PADDED else number
    return _BY_NUMBER.get(padded)


def same_charset(one: str, other: str) -> bool:
    """Return whether two names are of one character set; ``utf8`` is an old name of ``utf8mb3``."""
    return _modern(one) == _modern(other)


def _modern(charset: str) -> str:
    name = charset.lower()
    return "utf8mb3" if name == "utf8" else name
