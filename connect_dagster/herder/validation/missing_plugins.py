"""Plugins that the group's connectors use and this worker lacks.

Connect's protocol knows nothing of what a worker can run: any worker may be told to run any connector. So a worker that
lacks one, a Python worker in a Java cluster above all, had better know before it joins. Java has no such check.
"""

from __future__ import annotations

from collections.abc import Iterator

from connect_dagster.errors import ConnectError
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.protocol.config_state import ClusterConfigState

_CLASSES = ("key.converter", "value.converter")


def check_plugins(state: ClusterConfigState, plugins: Plugins, action: str) -> None:
    """Refuse to join a group whose connectors this worker could not run.

    Args:
        state: the group's configuration.
        plugins: what this worker has.
        action: ``missing.plugins`` of the worker; ``join`` joins all the same.

    Raises:
        ConnectError: something is missing; lists all of it.
    """
    missing = sorted(_missing(state, plugins))
    if not missing or action == "join":
        return
    listed = "\n".join(f"- {name} ({key} of connector {connector})" for connector, key, name in missing)
    raise ConnectError(
        "This worker does not join the group, because it lacks plugins that the group's connectors use:\n"
        f"{listed}\n"
        "Put them on plugin.path, or set missing.plugins=join to join all the same: such connectors and tasks then "
        "fail when they are assigned to this worker."
    )


def _missing(state: ClusterConfigState, plugins: Plugins) -> Iterator[tuple[str, str, str]]:
    for connector in state.connectors():
        config = state.connector_config(connector) or {}
        name = config.get("connector.class")
        if name and not _has_connector(plugins, name):
            yield connector, "connector.class", name
        for key in (*_CLASSES, *_aliased(config)):
            name = config.get(key)
            if name and plugins.find_class(name) is None:
                yield connector, key, name


def _aliased(config: dict[str, str | None]) -> list[str]:
    """Keys of the classes of transforms and predicates."""
    return [
        f"{kind}.{alias.strip()}.type"
        for kind in ("transforms", "predicates")
        for alias in (config.get(kind) or "").split(",")
        if alias.strip()
    ]


def _has_connector(plugins: Plugins, name: str) -> bool:
    try:
        plugins.connector(name)
    except ConnectError:
        return False
    return True
