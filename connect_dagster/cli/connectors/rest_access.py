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

from connect_dagster.cli.contexts.context_file import ACCESS_KEYS
from connect_dagster.cli.contexts.context_option import chosen_context, context_option
from connect_dagster.client.access import Access
from connect_dagster.client.operations import StateNotReachedError
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError

NOT_AS_WISHED = 1

_FILE = click.Path(exists=True, dir_okay=False)
DEFAULT_URL = "http://127.0.0.1:8083"
_OPTIONS = (
    click.option(
        "--url",
        envvar="CONNECT_DAGSTER_REST_URL",
        show_envvar=True,
        help=f"REST address of a worker; by default that of the current context, else {DEFAULT_URL}.",
    ),
    context_option(),
    click.option("--username", envvar="CONNECT_DAGSTER_USERNAME", show_envvar=True, help="User of its REST API."),
    click.option(
        "--password",
        envvar="CONNECT_DAGSTER_PASSWORD",
        show_envvar=True,
        help="That user's password; give it in the variable, as others can see command lines.",
    ),
    click.option(
        "--token",
        envvar="CONNECT_DAGSTER_TOKEN",
        show_envvar=True,
        help="Bearer token instead of a user; give it in the variable, or in a file.",
    ),
    click.option(
        "--token-file", envvar="CONNECT_DAGSTER_TOKEN_FILE", show_envvar=True, type=_FILE, help="File with it."
    ),
    click.option(
        "--ca-file",
        envvar="CONNECT_DAGSTER_CA_FILE",
        show_envvar=True,
        type=_FILE,
        help="Trusted certificates for https: PEM, PKCS12 or JKS.",
    ),
    click.option(
        "--ca-password", envvar="CONNECT_DAGSTER_CA_PASSWORD", show_envvar=True, help="Password of that store."
    ),
    click.option(
        "--cert-file",
        envvar="CONNECT_DAGSTER_CERT_FILE",
        show_envvar=True,
        type=_FILE,
        help="Client certificate for https: PEM, or with its key PEM, PKCS12 or JKS.",
    ),
    click.option(
        "--key-file",
        envvar="CONNECT_DAGSTER_KEY_FILE",
        show_envvar=True,
        type=_FILE,
        help="Its private key as PEM, when that is another file.",
    ),
    click.option(
        "--key-password",
        envvar="CONNECT_DAGSTER_KEY_PASSWORD",
        show_envvar=True,
        help="Password of the key, or of the store.",
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
    def asking(**arguments: Any) -> Any:
        with one_sentence():
            return command(chosen_client(arguments), **arguments)

    for option in reversed(_OPTIONS):
        asking = option(asking)
    return asking


def chosen_client(arguments: dict[str, Any], **more: Any) -> KafkaConnectClient:
    """Take the options that lead to a worker out of a command's arguments, and return the client that they choose.

    Args:
        arguments: of the command.
        more: for the client.
    """
    url, context = arguments.pop("url"), arguments.pop("context")
    given = {name: arguments.pop(name) for name in ACCESS_KEYS}
    chosen = chosen_context(context, url, "--url") or {}
    access = {**{name: chosen.get(name) for name in ACCESS_KEYS}, **{name: one for name, one in given.items() if one}}
    return KafkaConnectClient(url or chosen.get("url", DEFAULT_URL), access=Access(**access), **more)


@contextmanager
def one_sentence() -> Iterator[None]:
    """Report errors of the worker without a traceback."""
    try:
        yield
    except (KafkaConnectError, StateNotReachedError) as error:
        raise Trouble(str(error)) from error
