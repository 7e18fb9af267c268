"""Version ranges of Maven, as Kafka Connect parses them (Java: ``VersionRange``, KIP-891).

``[1,2)`` is from 1 up to, without, 2; ``1.5`` alone means exactly that version; ``latest`` and nothing mean any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import zip_longest

from connect_dagster.errors import ConfigError

LATEST = "latest"
_QUALIFIERS = ("alpha", "beta", "milestone", "rc", "snapshot", "", "sp")
_SHORT = {"a": "alpha", "b": "beta", "m": "milestone", "cr": "rc", "ga": "", "final": "", "release": ""}


@dataclass(frozen=True, slots=True)
class _Bounds:
    """One interval; an empty bound is open."""

    lower: str
    upper: str
    with_lower: bool
    with_upper: bool

    def __contains__(self, version: str) -> bool:
        low, high = _compared(self.lower, version), _compared(version, self.upper)
        above = not self.lower or low < 0 or (low == 0 and self.with_lower)
        below = not self.upper or high < 0 or (high == 0 and self.with_upper)
        return above and below

    def __str__(self) -> str:
        return f"{'[' if self.with_lower else '('}{self.lower},{self.upper}{']' if self.with_upper else ')'}"


@dataclass(frozen=True, slots=True)
class VersionRange:
    """One or several intervals."""

    bounds: tuple[_Bounds, ...]

    @classmethod
    def parse(cls, spec: str | None) -> VersionRange | None:
        """Parse a range; returns ``None`` when every version matches.

        Raises:
            ConfigError: it is not a range; with Maven's text.
        """
        if spec is None or spec == LATEST:
            return None
        spec = spec.strip()
        if not spec.startswith(("[", "(")):
            return cls((_Bounds(spec, spec, True, True),))
        return cls(tuple(_ordered(spec, list(_sets(spec)))))

    def __contains__(self, version: str) -> bool:
        return any(version in bounds for bounds in self.bounds)

    def __str__(self) -> str:
        return ",".join(map(str, self.bounds))


def require_version(plugin: str, version: str, spec: str | None) -> None:
    """Check that a plugin has a version of a range.

    Args:
        plugin: its class name, for the error.
        version: the version there is.
        spec: the range asked for.

    Raises:
        ConfigError: it has not, or the range is none.
    """
    wanted = VersionRange.parse(spec)
    if wanted is not None and version not in wanted:
        raise ConfigError(
            f"Plugin {plugin} not found that matches the version range {wanted}, available versions: [{version}]"
        )


def fitting_version(versions: Sequence[str], spec: str | None) -> str:
    """Return the latest of these versions that is in a range; the latest of all where none is.

    Raises:
        ConfigError: the range is none.
    """
    wanted = VersionRange.parse(spec)
    latest = sorted(versions, key=cmp_to_key(_compared))
    return next((one for one in reversed(latest) if wanted is None or one in wanted), latest[-1])


def check_version(name: str, value: str | None) -> None:
    """Check that a value is a range (a validator of configuration keys)."""
    VersionRange.parse(value)


def _sets(spec: str) -> Iterator[str]:
    rest = spec
    while rest.startswith(("[", "(")):
        ends = [index for index in (rest.find(")"), rest.find("]")) if index >= 0]
        if not ends:
            raise ConfigError(f"Unbounded range: {spec}")
        yield rest[: min(ends) + 1]
        rest = rest[min(ends) + 1 :].strip().removeprefix(",").strip()
    if rest:
        raise ConfigError(f"Only fully-qualified sets allowed in multiple set scenario: {spec}")


def _ordered(spec: str, sets: list[str]) -> Iterator[_Bounds]:
    previous: _Bounds | None = None
    for text in sets:
        bounds = _bounds(text)
        if previous is not None and (not bounds.lower or _compared(bounds.lower, previous.upper) < 0):
            raise ConfigError(f"Ranges overlap: {spec}")
        yield bounds
        previous = bounds


def _bounds(text: str) -> _Bounds:
    with_lower, with_upper, inner = text[0] == "[", text[-1] == "]", text[1:-1].strip()
    lower, comma, upper = (part.strip() for part in inner.partition(","))
    if not comma:
        if not with_lower or not with_upper:
            raise ConfigError(f"Single version must be surrounded by []: {text}")
        return _Bounds(inner, inner, True, True)
    if lower and lower == upper:
        raise ConfigError(f"Range cannot have identical boundaries: {text}")
    if lower and upper and _compared(upper, lower) < 0:
        raise ConfigError(f"Range defies version ordering: {text}")
    return _Bounds(lower, upper, with_lower, with_upper)


def _compared(left: str, right: str) -> int:
    """Compare like Maven's ``ComparableVersion``: below, equal or above zero."""
    for one, other in zip_longest(_parts(left), _parts(right)):
        first, second = _rank(one), _rank(other)
        if first != second:
            return -1 if first < second else 1
    return 0


def _parts(version: str) -> list[str]:
    return re.findall(r"\d+|[a-z]+", version.lower())


def _rank(part: str | None) -> tuple[int, int, str]:
    """Return a sort key: known qualifiers precede the release, unknown ones and numbers follow; 0 equals nothing."""
    word = "" if part is None else _SHORT.get(part, part)
    if word.isdecimal():
        return (2, int(word), "") if int(word) else (1, _QUALIFIERS.index(""), "")
    return (1, _QUALIFIERS.index(word), "") if word in _QUALIFIERS else (1, len(_QUALIFIERS), word)
