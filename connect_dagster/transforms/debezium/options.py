"""Checks of options that Debezium's transforms share."""

from __future__ import annotations

from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.expressions.java_calls import has_jvm
from connect_dagster.expressions.java_patterns import replacement_refusal
from connect_dagster.plugin.config import Validator, one_of_ignoring_case


def optional_one_of(*allowed: str) -> Validator:
    """Return the check for one of these strings in any case, or none."""
    check = one_of_ignoring_case(*allowed)

    def check_given(name: str, value: Any) -> None:
        if value is not None:
            check(name, value)

    return check_given


def check_replacement(regex_name: str, regex: str, name: str, replacement: str) -> None:
    """Check that a replacement has groups of its expression alone; not looked at where no JVM runs.

    Raises:
        ConfigError: it has others, or a $ or a backslash without what has to follow.
    """
    refusal = replacement_refusal(regex_name, regex, replacement) if has_jvm() else None
    if refusal is not None:
        raise ConfigError.invalid(name, replacement, f"{refusal.message} (it may have groups of {regex_name}: {regex})")
