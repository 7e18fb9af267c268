"""Which brokers ``connect-dagster topic`` and ``group`` speak to, and what they say when none answers."""

from __future__ import annotations

import click

from connect_dagster.brokers.groups import ANSWER_SECONDS

bootstrap_option = click.option(
    "--bootstrap-server",
    envvar="KAFKA_BOOTSTRAP_SERVERS",
    default="localhost:9092",
    show_default=True,
    show_envvar=True,
    help="Brokers to find the cluster by.",
)


def unanswered(bootstrap: str, why: str) -> click.ClickException:
    """The error for brokers that did not answer.

    Args:
        bootstrap: where they were looked for.
        why: what the client library says.
    """
    return click.ClickException(
        f"No broker answered at {bootstrap} within {ANSWER_SECONDS:g} s ({why}): "
        "check --bootstrap-server, and that Kafka is running."
    )
