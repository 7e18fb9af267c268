"""Regular expressions of users, with Java's meaning: ``java.util.regex`` in Spark's JVM, and an end to each match.

Java's engine has no bound of time: ``(.*)(.*)(.*)(.*)(.*)x`` takes hours for a long name. A class in Java, beside this
module, counts the characters that the engine reads. Where no JVM runs, as in a command, the package ``regex`` is used
(:mod:`connect_dagster.java.bounded_patterns`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import Column

from connect_dagster.errors import ConfigError
from connect_dagster.expressions.java_calls import JavaRefusalError, has_jvm, jvm, text_function
from connect_dagster.expressions.java_classes import new_instance
from connect_dagster.java.bounded_patterns import BoundedPattern, PatternSyntaxError, RunawayPatternError

MOST_STEPS = 10_000_000
"""Characters that Java's engine may read for one match, some tenths of a second; a usual match reads hundreds."""

MOST_SECONDS = 30.0
"""Seconds for the matches of one call; they also end those that read nothing, at the end of a text."""

_SOURCE = Path(__file__).with_name("BoundedPattern.java")
_RUNAWAY = "java.lang.IllegalStateException"
_BETWEEN = "\0"


class CostlyPatternError(ConfigError):
    """A match of a regular expression in a configuration takes too long."""


class Regex:
    """A user's regular expression in Spark's JVM (Java: ``java.util.regex.Pattern``).

    Args:
        name: of the option, for errors.
        pattern: the expression.
        replacement: of a match (Java: ``Matcher.replaceFirst``); ``None`` for the text as it is.
        steps: the most characters that a match may read.
        seconds: the most time for the matches of a call.

    Raises:
        ConfigError: it is not an expression.
    """

    def __init__(
        self,
        name: str,
        pattern: str,
        replacement: str | None = None,
        *,
        steps: int = MOST_STEPS,
        seconds: float = MOST_SECONDS,
    ) -> None:
        self._name, self._pattern = name, pattern
        place = f"{ConfigError.invalid(name, pattern)}: "
        arguments = (place, _compiled(name, pattern), replacement, steps, int(seconds * 1000))
        self._java = new_instance(_SOURCE, *arguments)

    def found(self, text: Column) -> Column:
        """Return the text with its first match replaced; null where the expression does not match all of it."""
        return text_function(self._java, text)

    def found_text(self, text: str) -> str | None:
        """Return the same of one text.

        Raises:
            CostlyPatternError: it takes too long.
            JavaRefusalError: the replacement names a group that there is not.
        """
        found: str | None = self._called(self._java.apply, text)
        return found

    def matching(self, texts: Sequence[str]) -> list[str]:
        """Return those of the texts that the expression matches as a whole.

        Args:
            texts: none has a zero character.

        Raises:
            CostlyPatternError: it takes too long.
        """
        digits = self._called(self._java.matching, _BETWEEN.join(texts)) if texts else ""
        return [text for text, digit in zip(texts, digits, strict=True) if digit == "1"]

    def _called(self, method: Any, text: str) -> Any:
        try:
            return method(text)
        except (Py4JJavaError, CapturedException) as error:
            refusal = JavaRefusalError(error)
        if refusal.java_name == _RUNAWAY:
            raise CostlyPatternError(refusal.message, name=self._name, value=self._pattern)
        raise refusal


def replacement_refusal(name: str, pattern: str, replacement: str) -> JavaRefusalError | None:
    """Return the error that Java throws for any match when the replacement is wrong."""
    try:
        # Matches the empty text whatever the pattern is, with the same groups.
        Regex(name, f"{pattern}|", replacement).found_text("")
    except JavaRefusalError as error:
        return error
    return None


def matching(name: str, pattern: str, texts: Iterable[str]) -> list[str]:
    """Return those of the texts that an expression matches as a whole, in their order.

    Args:
        name: of the option that has the expression.
        pattern: the expression.
        texts: names of topics or tables.

    Raises:
        ConfigError: it is not an expression.
        CostlyPatternError: it takes too long.
    """
    if has_jvm():
        return Regex(name, pattern).matching(list(texts))
    bounded = _without_jvm(name, pattern)
    try:
        return [text for text in texts if bounded.fullmatch(text)]
    except RunawayPatternError as error:
        raise CostlyPatternError.invalid(name, pattern, str(error)) from error


def regex(name: str, value: Any) -> None:
    """Check a regular expression (Java: ``RegexValidator``)."""
    if value is None:
        reason = 'Cannot invoke "String.length()" because "this.pattern" is null'
        raise ConfigError.invalid(name, value, f"Invalid regex: {reason}")
    if has_jvm():
        _compiled(name, value)
    else:
        _without_jvm(name, value)


def non_empty_list(name: str, value: Any) -> None:
    """Check that a list has an item (Java: ``NonEmptyListValidator``)."""
    if not value:
        raise ConfigError.invalid(name, value, "Empty list")


def _without_jvm(name: str, pattern: str) -> BoundedPattern:
    try:
        return BoundedPattern(pattern)
    except PatternSyntaxError as error:
        raise ConfigError.invalid(name, pattern, f"Invalid regex: {error}") from error


def _compiled(name: str, pattern: str) -> Any:
    try:
        return jvm().java.util.regex.Pattern.compile(pattern)
    except (Py4JJavaError, CapturedException) as error:
        refusal = JavaRefusalError(error)
        raise ConfigError.invalid(name, pattern, f"Invalid regex: {refusal.message}") from error
