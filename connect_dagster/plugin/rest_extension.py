"""Extensions of a worker's REST API (Java: ``ConnectRestExtension``, KIP-285).

A distribution declares its classes by entry points of the group ``connect_dagster.rest_extensions``, or they lie on
``plugin.path`` as other plugins do; the worker's ``rest.extension.classes`` names those that it uses, by the entry
point, an alias or ``module.Class``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from starlette.types import ASGIApp


class ClusterState(ABC):
    """The cluster as an extension sees it (Java: ``ConnectClusterState``).

    All methods block: call them in a thread, as by ``starlette.concurrency.run_in_threadpool``.
    """

    @abstractmethod
    def connectors(self) -> list[str]:
        """Return the names of the connectors."""

    @abstractmethod
    def connector_config(self, connector: str) -> Mapping[str, str | None]:
        """Return a connector's configuration as it was given. Raises NotFoundError when it does not exist."""

    @abstractmethod
    def connector_health(self, connector: str) -> Mapping[str, Any]:
        """Return the states of a connector and its tasks, as ``GET /connectors/NAME/status`` has them.

        Raises:
            NotFoundError: the connector does not exist.
        """


class RestExtension(ABC):
    """Runs before the routes of the REST API, but not of ``admin.listeners``.

    Attributes:
        version: of the extension.
    """

    version: ClassVar[str] = "undefined"

    def configure(self, config: Mapping[str, str]) -> None:  # noqa: B027 - most have no settings
        """Take the properties of the worker.

        Raises:
            ConfigError: one is wrong; the worker does not start.
        """

    @abstractmethod
    def register(self, app: ASGIApp, cluster_state: ClusterState) -> ASGIApp:
        """Return the application that is called in place of another.

        It may answer a request, or pass it on, and so add authentication, headers or routes. Paths have neither matrix
        parameters nor a ``/`` at the end, and are not decoded; ``scope["extensions"]["tls"]`` has the certificate of a
        client with https, as in ASGI's extension for TLS. Requests among workers are not passed to it while workers
        sign them.

        Args:
            app: the routes, behind the extensions that are named later.
            cluster_state: what the extension may ask of the cluster.
        """

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release what the extension holds, when the worker stops."""
