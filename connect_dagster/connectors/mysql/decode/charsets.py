"""MySQL's character sets as codecs of Python, and columns of encoded texts as columns of Unicode."""

from __future__ import annotations

import pyarrow as pa

from connect_dagster.errors import DataError

UTF8 = frozenset({"utf8", "utf8mb3", "utf8mb4", "ascii"})
"""Character sets whose bytes are UTF-8 as they stand."""

_CODECS = {
    "big5": "big5",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp866": "cp866",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "euckr": "euc_kr",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "greek": "iso8859_7",
    "hebrew": "iso8859_8",
    "hp8": "hp_roman8",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "latin1": "cp1252",  # MySQL's latin1 is this one
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "macce": "mac_latin2",
    "macroman": "mac_roman",
    "sjis": "shift_jis",
    "tis620": "tis_620",
    "ucs2": "utf_16_be",
    "ujis": "euc_jp",
    "utf16": "utf_16_be",
    "utf16le": "utf_16_le",
    "utf32": "utf_32_be",
}


def codec(charset: str) -> str:
    """Return Python's codec for a character set.

    Raises:
        DataError: there is none.
    """
    if charset in UTF8:
        return "utf_8"
    if charset not in _CODECS:
        raise DataError(
            f"No codec is known for MySQL's character set {charset}; known are {', '.join(sorted(_CODECS))}"
        )
    return _CODECS[charset]


def decoded(values: pa.Array, charset: str) -> pa.Array:
    """Return encoded texts (a binary array) as strings, each distinct one decoded once; what cannot be is replaced."""
    encoded = values.dictionary_encode()
    name = codec(charset)
    texts = pa.array([value.as_py().decode(name, "replace") for value in encoded.dictionary], pa.string())
    return texts.take(encoded.indices)
