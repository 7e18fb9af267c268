"""Failures of runs as one sentence with the cause and the remedy, instead of a stack."""

import difflib
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import dagster as dg

from connect_dagster.client.operations import StateNotReachedError
from connect_dagster.client.rest_client import KafkaConnectError

MOST_NAMES = 20


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn errors of the worker into a failure whose description is their message."""
    try:
        yield
    except (KafkaConnectError, StateNotReachedError) as error:
        raise dg.Failure(str(error)) from None


def unknown_names(unknown: Collection[str], known: Collection[str], where: str) -> dg.Failure:
    """Return the failure of a run with unknown names of connectors.

    Args:
        unknown: The names.
        known: Those there are.
        where: Who does not know them, such as ``The cluster 'local'``.
    """
    named = ", ".join(f"'{name}'{_hint(name, known)}" for name in sorted(unknown))
    return dg.Failure(f"{where} has no connector {named}. It has: {listed(known)}. Nothing was done.")


def listed(names: Collection[str]) -> str:
    """Return names for a sentence, at most 20 of them."""
    shown = ", ".join(sorted(names)[:MOST_NAMES]) or "none"
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"


def reasons(by_name: Mapping[str, str]) -> str:
    """Return the reason of each connector, in one line."""
    return "; ".join(f"'{name}': {reason}" for name, reason in by_name.items())


def _hint(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def unset_variables(values: Mapping[str, object]) -> list[str]:
    """Return variables that are not set, each with its key: ``PASSWORD (for connection.password)``.

    Args:
        values: Values by name; those that are an ``EnvVar`` count.
    """
    return [
        f"{value.env_var_name} (for {name})"
        for name, value in values.items()
        if isinstance(value, dg.EnvVar) and value.env_var_name not in os.environ
    ]
