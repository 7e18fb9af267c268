r"""Java's .properties format (Java: ``Properties.load``).

Java's worker reads such a file as ISO-8859-1, so that text beyond it needs ``\uXXXX``. Here a file that is UTF-8 is
read as UTF-8, any other as ISO-8859-1, which is Java's own rule for resource bundles since version 9 (JEP 226): every
file that Java reads as meant is read alike, and one with raw Korean paths is read as meant too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from connect_dagster.errors import ConfigError

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANKS = " \t\f"
_COMMENT = ("#", "!")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"})
_UNICODE = re.compile(r"[0-9a-fA-F]{4}")
# A key ends at the first of these that is not escaped; one = or : may stand among the blanks.
_KEY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def load_properties(path: str | Path) -> dict[str, str]:
    """Read a .properties file.

    Raises:
        ConfigError: the file cannot be read, or has a malformed escape; names file and line.
    """
    return parse_properties(read_text(path), str(path))


def read_text(path: str | Path) -> str:
    """Return the text of a configuration file: UTF-8, with or without byte order mark, else ISO-8859-1.

    Raises:
        ConfigError: the file cannot be read; names it.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}") from error
    return _decoded(content)


def parse_properties(text: str, source: str) -> dict[str, str]:
    """Parse keys and values of the text; the last value of a repeated key counts.

    Args:
        text: content of a .properties file.
        source: where it is from, for the error.

    Raises:
        ConfigError: an escape is malformed; names source and line.
    """
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key, value = _KEY.findall(line)[0]
        try:
            found[_unescaped(key)] = _unescaped(value)
        except ValueError as error:
            raise ConfigError(f"{source}, line {number}: {error}") from error
    return found


def property_lines(properties: Mapping[str, str]) -> str:
    """Return properties as lines of a .properties file."""
    return "".join(f"{_escaped_key(key)}={_escaped_value(value)}\n" for key, value in properties.items())


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("iso-8859-1")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield logical lines, each with the number of its first line; no comments, no blank lines."""
    lines = iter(enumerate(_LINE_END.split(text), start=1))
    for number, natural in lines:
        line = natural.lstrip(_BLANKS)
        while _continues(line):
            _, following = next(lines, (0, ""))
            line = line[:-1] + following.lstrip(_BLANKS)
        if line and not line.startswith(_COMMENT):
            yield number, line


def _continues(line: str) -> bool:
    backslashes = len(line) - len(line.rstrip("\\"))
    return backslashes % 2 == 1 and not line.startswith(_COMMENT)


def _unescaped(text: str) -> str:
    r"""Resolve escapes; an unknown escape ``\x`` is x.

    Raises:
        ValueError: ``\u`` without four hexadecimal digits.
    """
    parts, at = [], 0
    while (slash := text.find("\\", at)) >= 0:
        parts.append(text[at:slash])
        kind, digits = text[slash + 1 : slash + 2], text[slash + 2 : slash + 6]
        if kind == "u" and not _UNICODE.fullmatch(digits):
            raise ValueError(f"Malformed \\uxxxx encoding: \\u{digits}")
        parts.append(chr(int(digits, 16)) if kind == "u" else _ESCAPES.get(kind, kind))
        at = slash + (6 if kind == "u" else 2)
    joined = "".join([*parts, text[at:]])
    return joined.encode("utf-16-be", "surrogatepass").decode("utf-16-be", "replace")


def _escaped_key(key: str) -> str:
    escaped = key.translate(_ESCAPED)
    for separator in " =:#!":
        escaped = escaped.replace(separator, f"\\{separator}")
    return escaped


def _escaped_value(value: str) -> str:
    escaped = value.translate(_ESCAPED)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
