"""Lists of regular expressions that select names (Debezium: ``Strings.setOfRegex``, ``Predicates``).

An expression matches a whole name, whatever its case. A comma separates two expressions unless a backslash is before
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from connect_dagster.errors import ConfigError
from connect_dagster.expressions import java_patterns

_IGNORING_CASE, _OVER_LINES = "(?i)", "(?s)"
_PARTS = re.compile(r"((?:\\.|[^\\,])*)(?:,|\Z)", re.DOTALL)
_UNFINISHED = re.compile(r"(?:\\.|[^\\])*\\", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RegexList:
    """The regular expressions of an option.

    Attributes:
        option: name of the option, for errors.
        expressions: without the backslashes before commas.
        over_lines: whether a dot also matches the end of a line, as for statements.
    """

    option: str
    expressions: tuple[str, ...] = ()
    over_lines: bool = False

    @classmethod
    def parse(cls, option: str, text: str) -> RegexList:
        """Return the list of a text; blanks around expressions do not count, nor do empty ones.

        Raises:
            ConfigError: the text ends within an escape, or one part is not a regular expression.
        """
        if _UNFINISHED.fullmatch(text):
            raise ConfigError.invalid(option, text, "It ends with a backslash, which must have a character after it")
        parts = (match[1].strip().replace("\\,", ",") for match in _PARTS.finditer(text))
        expressions = tuple(part for part in parts if part)
        for expression in expressions:
            java_patterns.regex(option, expression)
        return cls(option, expressions)

    @classmethod
    def of_items(cls, option: str, items: Sequence[str]) -> RegexList:
        """Return the list of an option of type LIST, whose text was split at each comma. Raises ConfigError."""
        return cls.parse(option, ",".join(items))

    def __bool__(self) -> bool:
        return bool(self.expressions)

    def matching(self, names: Sequence[str]) -> list[str]:
        """Return the names that an expression matches, in their order.

        Raises:
            CostlyPatternError: a match takes too long.
        """
        found: set[str] = set()
        flags = _IGNORING_CASE + (_OVER_LINES if self.over_lines else "")
        for expression in self.expressions:
            left = [name for name in names if name not in found]
            found.update(java_patterns.matching(self.option, flags + expression, left))
        return [name for name in names if name in found]

    def in_order(self, names: Sequence[str]) -> list[str]:
        """Return the names that an expression matches, in the order of the expressions, sorted within each.

        Raises:
            CostlyPatternError: a match takes too long.
        """
        found: dict[str, None] = {}
        for expression in self.expressions:
            alone = RegexList(self.option, (expression,))
            found.update(dict.fromkeys(sorted(alone.matching(names))))
        return list(found)


@dataclass(frozen=True, slots=True)
class NameFilter:
    """The lists ``….include.list`` and ``….exclude.list`` of one kind of names; included ones win.

    Attributes:
        included: the only names to keep, unless it is empty.
        excluded: names to leave out where nothing is included.
    """

    included: RegexList
    excluded: RegexList

    def __bool__(self) -> bool:
        return bool(self.included or self.excluded)

    def kept(self, names: Sequence[str]) -> list[str]:
        """Return the names that are kept, in their order.

        Raises:
            CostlyPatternError: a match takes too long.
        """
        if self.included:
            return self.included.matching(names)
        left_out = set(self.excluded.matching(names))
        return [name for name in names if name not in left_out]


def regexes(option: str, value: Sequence[str] | None) -> None:
    """Check the value of an option that is a list of regular expressions."""
    RegexList.of_items(option, value or ())
