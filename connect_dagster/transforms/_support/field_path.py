"""Paths to fields: a plain name, or names joined by dots (Java: ``SingleFieldPath``, KIP-821). Pure."""

from __future__ import annotations

from connect_dagster.errors import ConfigError

_TICK, _DOT, _BACKSLASH = "`", ".", "\\"


def steps(path: str, version: str) -> tuple[str, ...]:
    """The names on a path, outermost first.

    Args:
        path: as configured.
        version: ``V1``, where the path is one name, or ``V2``: dots divide, backticks around a name keep its dots,
            a backslash keeps a backtick that a dot follows.

    Raises:
        ConfigError: a backtick has no partner, in Java's words.
    """
    return (path,) if version == "V1" else tuple(_divided(path))


def _divided(path: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(path):
        name, at = _quoted(path, at) if path[at] == _TICK else _plain(path, at)
        found.append(name)
    return [*found, ""] if path.endswith(_DOT) else found


def _plain(path: str, start: int) -> tuple[str, int]:
    """A name and where the next one begins."""
    name, _, _ = path[start:].partition(_DOT)
    return name, start + len(name) + 1


def _quoted(path: str, opening: int) -> tuple[str, int]:
    """Likewise, of a name in backticks; only one before a dot or the end closes it."""
    name, start, at = "", opening + 1, opening + 1
    while True:
        at = path.find(_TICK, at)
        escaped = at > 0 and path[at - 1] == _BACKSLASH
        last = at == len(path) - 1
        if at < 0 or (last and escaped):
            raise ConfigError(
                f"Incomplete backtick pair in path: [{path}], consider adding a backslash before backtick at "
                f"position {opening} to escape it"
            )
        if last or (path[at + 1] == _DOT and not escaped):
            return name + path[start:at], at + 2
        if path[at + 1] == _DOT:
            name, start = name + path[start : at - 1] + _TICK, at + 1
        at += 1
