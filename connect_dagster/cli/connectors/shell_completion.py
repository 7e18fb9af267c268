"""Completion of words in a shell: ``connect-dagster completion``, and the names of connectors, plugins and loggers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import get_completion_class

from connect_dagster.cli.connectors.rest_access import chosen_client
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError, RetryPolicy

Complete = Callable[[click.Context, click.Parameter, str], list[str]]
_SECONDS = 2.0
_ONCE = RetryPolicy(retries=0, rebalance=0.0)


def _names_of(names: Callable[[KafkaConnectClient], Iterable[str]]) -> Complete:
    """Return the completion by names that a worker knows; none where it does not respond in time."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        try:
            client = chosen_client(dict(context.params), timeout=_SECONDS, retry=_ONCE)
            return sorted(name for name in names(client) if name.startswith(incomplete))
        except (KafkaConnectError, click.ClickException):
            return []

    return complete


connector_names = _names_of(KafkaConnectClient.connectors)
logger_names = _names_of(KafkaConnectClient.loggers)
plugin_names = _names_of(lambda client: [plugin.plugin_class for plugin in client.plugins()])


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print the script that has a shell complete words.

    For example in ~/.bashrc: eval "$(connect-dagster completion bash)"
    """
    name = "connect-dagster"
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(context.find_root().command, {}, name, f"_{name.replace('-', '_').upper()}_COMPLETE").source())
