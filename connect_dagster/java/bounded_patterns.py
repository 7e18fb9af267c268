"""Regular expressions of users, where no JVM runs: in commands, in Dagster, and before a worker's Spark starts.

The engine is that of the package ``regex``, which ends a match after a time and knows most of Java's syntax: possessive
quantifiers, categories of Unicode, intersections of classes. Python's own engine does neither, and holds the
interpreter's lock while an expression such as ``(a+)+$`` takes hours.
"""

from __future__ import annotations

import regex

LONGEST_EXPRESSION = 100_000
"""Characters of an expression; longer ones take seconds to compile."""

_SECONDS = 1.0


class PatternSyntaxError(Exception):
    """The text is not a regular expression (Java: ``PatternSyntaxException``)."""


class RunawayPatternError(Exception):
    """A match takes too long."""


class BoundedPattern:
    """A regular expression whose matches end.

    Args:
        expression: the expression, in Java's syntax as far as the engine has it.
        ignore_case: upper and lower case are the same.

    Raises:
        PatternSyntaxError: it is none, or it is longer than :data:`LONGEST_EXPRESSION`.
    """

    def __init__(self, expression: str, *, ignore_case: bool = False) -> None:
        if len(expression) > LONGEST_EXPRESSION:
            raise PatternSyntaxError(f"it has {len(expression)} characters, the most are {LONGEST_EXPRESSION}")
        flags = regex.V1 | (regex.IGNORECASE if ignore_case else 0)
        try:
            self._pattern = regex.compile(expression, flags)
        except (regex.error, RecursionError, OverflowError) as error:
            raise PatternSyntaxError(str(error)) from error

    def fullmatch(self, text: str, seconds: float = _SECONDS) -> regex.Match[str] | None:
        """Return the match of a whole text.

        Args:
            text: what to match.
            seconds: the most that the match may take, in CPU time of the process.

        Raises:
            RunawayPatternError: it takes longer.
        """
        try:
            return self._pattern.fullmatch(text, timeout=seconds)
        except TimeoutError as error:
            shown = text if len(text) <= 100 else f"{text[:100]}…"
            raise RunawayPatternError(f"matching '{shown}' takes longer than {seconds:g} s") from error
