"""Connector plugins by the names that users give them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from connect_dagster.cli.connectors.rest_access import Trouble
from connect_dagster.client.types import ConnectorPlugin

_CONNECTORS = ("source", "sink")


def connector_plugins(plugins: Iterable[ConnectorPlugin]) -> list[ConnectorPlugin]:
    """Return the plugins that are connectors."""
    return [each for each in plugins if each.type in _CONNECTORS]


def connector_plugin(plugins: Iterable[ConnectorPlugin], name: str, where: str) -> ConnectorPlugin:
    """Return the connector plugin of a name: its class, whole or simple, also without ``Connector`` at its end.

    Args:
        plugins: among which it is.
        name: that the user gives.
        where: what has the plugins, for the error.

    Raises:
        Trouble: there is none; names those that there are.
    """
    found, names = connector_plugins(plugins), {name, f"{name}Connector"}
    for each in found:
        if names & {each.plugin_class, each.plugin_class.rpartition(".")[2]}:
            return each
    known = ", ".join(each.plugin_class for each in found) or "none at all"
    raise Trouble(f"{where} has no connector plugin {name}; it has {known}")
