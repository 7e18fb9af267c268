"""Options of ``connect-dagster topic``, ``group`` and ``dlq`` that lead to brokers, and the error if none responds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from connect_dagster.cli.contexts.context_file import ContextError
from connect_dagster.cli.contexts.context_option import chosen_context, context_option, given_context
from connect_dagster.errors import ConnectError
from connect_dagster.java.properties import load_properties
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.groups import ANSWER_SECONDS

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_BROKERS = "localhost:9092"
_bootstrap_server = click.option(
    "--bootstrap-server",
    envvar="KAFKA_BOOTSTRAP_SERVERS",
    show_envvar=True,
    help=f"Brokers, as host:port between commas; by default those of the current context, else {DEFAULT_BROKERS}.",
)


_command_config = click.option(
    "--command-config",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Property file with settings of clients, as Kafka's own tools take it: security.protocol, sasl.*, ssl.*.",
)


def brokers_options(command: Command) -> Command:
    """Add the options that lead to brokers to a command, for :func:`chosen_brokers`."""
    return _bootstrap_server(context_option(expose_value=False)(_command_config(command)))


def brokers_beside_worker(command: Command) -> Command:
    """Add them to a command that has the options of a worker, and so ``--context``, already."""
    return _bootstrap_server(_command_config(command))


def chosen_brokers(bootstrap_server: str | None, command_config: str | None) -> Brokers:
    """Return the brokers that the options, or a context, name. Raises ClickException when a file cannot be read."""
    name = given_context()
    chosen = chosen_context(name, bootstrap_server, "--bootstrap-server") or {}
    if name and "bootstrap_server" not in chosen:
        raise ContextError(
            f"The context {name} names no brokers: `connect-dagster context set {name} --bootstrap-server HOST:PORT`"
        )
    bootstrap_server = bootstrap_server or chosen.get("bootstrap_server", DEFAULT_BROKERS)
    command_config = command_config or chosen.get("command_config")
    if command_config is None:
        return Brokers(bootstrap_server)
    try:
        return Brokers(bootstrap_server, load_properties(command_config))
    except ConnectError as error:
        raise click.ClickException(str(error)) from error


class NoBrokerError(click.ClickException):
    """No broker responded."""

    exit_code = 2


def unanswered(bootstrap: object, why: str, seconds: float = ANSWER_SECONDS) -> NoBrokerError:
    """Return the error for brokers that did not respond.

    Args:
        bootstrap: where they were looked for.
        why: the client library's text.
        seconds: how long they were waited for.
    """
    return NoBrokerError(
        f"No broker responded at {bootstrap} within {seconds:g} s ({why}): "
        "check --bootstrap-server, and that Kafka is running."
    )
