"""``connect-dagster typed-resource``: the source of a Dagster resource for any plugin a worker has."""

from __future__ import annotations

import click

from connect_dagster.cli.connectors.plugin_choice import connector_plugin
from connect_dagster.cli.connectors.rest_access import asks_worker
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.orchestration.resources.bundled import SinkConnectorResource, SourceConnectorResource
from connect_dagster.orchestration.resources.connector import ConnectorResource
from connect_dagster.orchestration.resources.resource_type import WrittenResource, live_resource_type, module_source

BASES: dict[str, type[ConnectorResource]] = {"source": SourceConnectorResource, "sink": SinkConnectorResource}


@click.command("typed-resource")
@click.argument("plugin")
@asks_worker
def typed_resource_command(client: KafkaConnectClient, plugin: str) -> None:
    """Print a Dagster resource for PLUGIN.

    It has a field for each key that the worker's plugin defines, with its type and text, so that editors complete
    and type checkers check what is declared. PLUGIN is a class, by its whole or its simple name.
    """
    found = connector_plugin(client.plugins(), plugin, f"The worker at {client.url}")
    base = BASES[found.type]
    made = live_resource_type(client.plugin_config(found.plugin_class), found.plugin_class, base)
    written = WrittenResource(
        made.__name__,
        f"A {found.type} of class {found.plugin_class}.",
        made,
        base.__name__,
        frozenset(base.model_fields),
    )
    title = f"A resource for {found.plugin_class}, written by ``connect-dagster typed-resource``."
    click.echo(module_source(title, "connect_dagster", base.__name__, [written]), nl=False)
