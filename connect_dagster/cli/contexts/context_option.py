"""``--context`` of the commands that ask a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from connect_dagster.cli.contexts.context_file import Context, context_names, read_contexts

Command = TypeVar("Command", bound=Callable[..., Any])


_NAME = f"{__name__}.name"


def context_option(**attributes: Any) -> Callable[[Command], Command]:
    """Return the option ``--context``, for :func:`given_context` as well.

    Args:
        attributes: as for any option.
    """
    return click.option(
        "--context",
        envvar="CONNECT_DAGSTER_CONTEXT",
        show_envvar=True,
        shell_complete=context_names,
        callback=_keep,
        help="Named cluster of `connect-dagster context`, instead of the current one.",
        **attributes,
    )


def given_context() -> str | None:
    """Return the name that ``--context`` of the running command, or of a group around it, has."""
    running = click.get_current_context(silent=True)
    return None if running is None else running.meta.get(_NAME)


def chosen_context(name: str | None, place: str | None, option: str) -> Context | None:
    """Return the context that a command uses: none where its place is given, as credentials are those of one cluster.

    Args:
        name: of ``--context``.
        place: of the option that names the place itself.
        option: that option, for the error.

    Raises:
        UsageError: both are given.
        ContextError: the context does not exist.
    """
    if name and place:
        raise click.UsageError(f"Give {option} or --context, not both: a context has its own place")
    return None if place else read_contexts().chosen(name)


def _keep(context: click.Context, _: click.Parameter, name: str | None) -> str | None:
    if name is not None:
        context.meta[_NAME] = name
    return name
