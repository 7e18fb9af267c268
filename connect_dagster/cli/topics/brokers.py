"""Which brokers ``connect-dagster topic`` and ``group`` speak to, and what they say when none answers."""

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
    help="Brokers to find the cluster by.",
)


_command_config = click.option(
    "--command-config",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Property file with settings of clients, as Kafka's own tools take it: security.protocol, sasl.*, ssl.*.",
)


def brokers_options(command: Command) -> Command:
    """``--bootstrap-server`` and ``--command-config``, which :func:`chosen_brokers` makes brokers of."""
    return _bootstrap_server(_command_config(command))


def chosen_brokers(bootstrap_server: str, command_config: str | None) -> Brokers:
    """The brokers that the options name. Raises ClickException when the file cannot be read."""
    if command_config is None:
        return Brokers(bootstrap_server)
    try:
        return Brokers(bootstrap_server, load_properties(command_config))
    except ConnectError as error:
        raise click.ClickException(str(error)) from error


def unanswered(bootstrap: object, why: str) -> click.ClickException:
    """The error for brokers that did not answer.

    Args:
        bootstrap: where they were looked for.
        why: what the client library says.
    """
    return click.ClickException(
        f"No broker answered at {bootstrap} within {ANSWER_SECONDS:g} s ({why}): "
        "check --bootstrap-server, and that Kafka is running."
    )
