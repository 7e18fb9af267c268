"""Options of ``connect-dagster topic``, ``group`` and ``dlq`` that lead to brokers, and the error if none responds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from connect_dagster.errors import ConnectError
from connect_dagster.java.properties import load_properties
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.groups import ANSWER_SECONDS

Command = TypeVar("Command", bound=Callable[..., Any])

_bootstrap_server = click.option(
    "--bootstrap-server",
    envvar="KAFKA_BOOTSTRAP_SERVERS",
    default="localhost:9092",
    show_default=True,
    show_envvar=True,
    help="Brokers, as host:port between commas.",
)


_command_config = click.option(
    "--command-config",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Property file with settings of clients, as Kafka's own tools take it: security.protocol, sasl.*, ssl.*.",
)


def brokers_options(command: Command) -> Command:
    """Add ``--bootstrap-server`` and ``--command-config`` to a command, for :func:`chosen_brokers`."""
    return _bootstrap_server(_command_config(command))


def chosen_brokers(bootstrap_server: str, command_config: str | None) -> Brokers:
    """Return the brokers that the options name. Raises ClickException when the file cannot be read."""
    if command_config is None:
        return Brokers(bootstrap_server)
    try:
        return Brokers(bootstrap_server, load_properties(command_config))
    except ConnectError as error:
        raise click.ClickException(str(error)) from error


def unanswered(bootstrap: object, why: str, seconds: float = ANSWER_SECONDS) -> click.ClickException:
    """Return the error for brokers that did not respond.

    Args:
        bootstrap: where they were looked for.
        why: the client library's text.
        seconds: how long they were waited for.
    """
    return click.ClickException(
        f"No broker responded at {bootstrap} within {seconds:g} s ({why}): "
        "check --bootstrap-server, and that Kafka is running."
    )
