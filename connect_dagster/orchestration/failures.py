"""Failures of runs as one sentence that tells what is wrong and what would be right, in place of a stack."""

import difflib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import dagster as dg

from connect_dagster.client.operations import StateNotReachedError
from connect_dagster.client.rest_client import KafkaConnectError

MOST_NAMES = 20


@contextmanager
def one_sentence() -> Iterator[None]:
    """Turn what the worker did not do, or say, into a failure whose description is its sentence."""
    try:
        yield
    except (KafkaConnectError, StateNotReachedError) as error:
        raise dg.Failure(str(error)) from None


def unknown_names(unknown: Collection[str], known: Collection[str], where: str) -> dg.Failure:
    """The failure of a run that is given names of connectors nobody knows.

    Args:
        unknown: The names.
        known: Those there are.
        where: Who does not know them, such as ``The cluster 'local'``.
    """
    named = ", ".join(f"'{name}'{_hint(name, known)}" for name in sorted(unknown))
    return dg.Failure(f"{where} has no connector {named}. It has: {listed(known)}. Nothing was done.")


def listed(names: Collection[str]) -> str:
    """Names for a sentence, cut where they are very many."""
    shown = ", ".join(sorted(names)[:MOST_NAMES]) or "none"
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"


def reasons(by_name: Mapping[str, str]) -> str:
    """What each connector says, in one line."""
    return "; ".join(f"'{name}': {reason}" for name, reason in by_name.items())


def _hint(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""
