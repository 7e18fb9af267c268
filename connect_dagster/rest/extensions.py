"""Extensions of the REST API: found by name, and put before the routes.

Java's extension for basic authentication is built in under its Java name, see :mod:`connect_dagster.rest.basic_auth`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.herder.interface import Herder
from connect_dagster.isolation.declarations import REST_EXTENSIONS, Declared, installed
from connect_dagster.isolation.plugins import Kind, Plugins
from connect_dagster.plugin.rest_extension import ClusterState, RestExtension
from connect_dagster.rest import basic_auth, entities
from connect_dagster.rest.exchange import Endpoint, Reply
from connect_dagster.rest.replies import response_of

log = logging.getLogger(__name__)

_PARAMETER = re.compile(r"\{\w+\}")


def load_extensions(
    names: Iterable[str], config: Mapping[str, str], plugins: Plugins | None = None
) -> tuple[RestExtension, ...]:
    """Return the extensions of a worker, configured.

    Args:
        names: entry points, aliases, or classes with their modules.
        config: the worker's properties.
        plugins: of the worker, with those on ``plugin.path``.

    Raises:
        ConnectError: an extension is unknown, or cannot be loaded.
        ConfigError: a property of an extension is wrong.
    """
    return tuple(_configured(name, config, plugins) for name in names)


def _configured(name: str, config: Mapping[str, str], plugins: Plugins | None) -> RestExtension:
    declared = installed(REST_EXTENSIONS)
    found = next((one for one in declared if name in (one.alias, _class_name(one))), None)
    if found is not None:
        kind: type[RestExtension] | None = _loaded(found)
    else:
        kind = None if plugins is None else plugins.rest_extension(name)
    if kind is None:
        on_path = [] if plugins is None else [one.class_name for one in plugins.all([Kind.REST_EXTENSION])]
        available = ", ".join([basic_auth.EXTENSION, *(one.alias for one in declared), *on_path])
        raise ConnectError(
            "Failed to find any class that implements interface org.apache.kafka.connect.rest.ConnectRestExtension "
            f"and which name matches {name}, available extensions are: {available}"
        )
    extension = kind()
    extension.configure(config)
    return extension


def _class_name(declared: Declared) -> str:
    return f"{declared.module}.{declared.attribute}"


def _loaded(declared: Declared) -> type[RestExtension]:
    try:
        kind = declared.load()
    except Exception as error:
        # Whatever the module of an extension raises.
        raise ConnectError(f"The REST extension {_class_name(declared)} cannot be loaded: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, RestExtension)):
        raise ConfigError(f"The REST extension {_class_name(declared)} is not a subclass of RestExtension")
    return kind


@dataclass(frozen=True, slots=True)
class _HerdersState(ClusterState):
    herder: Herder

    def connectors(self) -> list[str]:
        return self.herder.connectors()

    def connector_config(self, connector: str) -> Mapping[str, str | None]:
        return self.herder.connector_info(connector).config

    def connector_health(self, connector: str) -> Mapping[str, Any]:
        return entities.connector_state(self.herder.connector_status(connector))


class Extended:
    """ASGI application with extensions before its routes.

    Requests among workers go past them while they must be signed. Unsigned ones need what the extensions ask for, such
    as the worker's certificate: anybody could send them.
    """

    def __init__(
        self, app: ASGIApp, herder: Herder, extensions: Sequence[RestExtension], endpoints: Iterable[Endpoint]
    ) -> None:
        self._app = app
        self._herder = herder
        self._extended = app
        for extension in reversed(extensions):
            self._extended = extension.register(self._extended, _HerdersState(herder))
        self._internal = [(one.method, _path_of(one)) for one in endpoints if one.internal]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._herder.requires_signature and self._is_internal(scope):
            await self._app(scope, receive, send)
            return
        began = False

        async def noticing(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self._extended(scope, receive, noticing)
        except Exception:
            log.exception("A REST extension failed at %s %s", scope["method"], scope["path"])
            if began:
                raise
            failed = Reply.error(500, "An extension of the REST API failed; the worker's log has the cause")
            await response_of(failed)(scope, receive, send)

    def _is_internal(self, scope: Scope) -> bool:
        return any(scope["method"] == method and path.fullmatch(scope["path"]) for method, path in self._internal)


def _path_of(endpoint: Endpoint) -> re.Pattern[str]:
    return re.compile("[^/]+".join(map(re.escape, _PARAMETER.split(endpoint.path))))
