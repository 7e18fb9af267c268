"""Options of the commands that operate a cluster over REST, and their exit codes.

A command exits with 0 when everything is as requested, 1 when it is not (a state that was not reached in time, a task
that FAILED, a configuration that differs), and 2 when the worker could not be reached or refused, or the arguments are
wrong.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from connect_dagster.client.operations import StateNotReachedError
from connect_dagster.client.rest_client import Access, KafkaConnectClient, KafkaConnectError

NOT_AS_WISHED = 1

_OPTIONS = (
    click.option(
        "--url",
        envvar="CONNECT_DAGSTER_REST_URL",
        default="http://127.0.0.1:8083",
        show_default=True,
        show_envvar=True,
        help="REST address of a worker.",
    ),
    click.option("--username", envvar="CONNECT_DAGSTER_USERNAME", show_envvar=True, help="User of its REST API."),
    click.option(
        "--password",
        envvar="CONNECT_DAGSTER_PASSWORD",
        show_envvar=True,
        help="That user's password; give it in the variable, as others can see command lines.",
    ),
    click.option(
        "--ca-file", type=click.Path(exists=True, dir_okay=False), help="CA that signed the certificate of https."
    ),
)

timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds until the effect has to be seen.",
)
json_option = click.option("-J", "--json", "in_json", is_flag=True, help="Print JSON.")


class Trouble(click.ClickException):
    """A worker cannot be reached, or refuses."""

    exit_code = 2


def asks_worker(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that lead to a worker to a command, which gets a client as its first argument."""

    @functools.wraps(command)
    def asking(*, url: str, username: str | None, password: str | None, ca_file: str | None, **arguments: Any) -> Any:
        access = Access(username, password, verify=ca_file or True)
        with one_sentence():
            return command(KafkaConnectClient(url, access=access), **arguments)

    for option in reversed(_OPTIONS):
        asking = option(asking)
    return asking


@contextmanager
def one_sentence() -> Iterator[None]:
    """Report errors of the worker without a traceback."""
    try:
        yield
    except (KafkaConnectError, StateNotReachedError) as error:
        raise Trouble(str(error)) from error
