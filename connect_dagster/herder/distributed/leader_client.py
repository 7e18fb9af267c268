"""Asks the leader of the group for what it alone writes to the config topic: task configurations, rounds of fencing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from connect_dagster.client.inter_worker import RestClient
from connect_dagster.errors import ConnectError
from connect_dagster.protocol.config_records import SessionKey

_SCHEMES = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class LeaderClient:
    """Signed requests to the leader.

    Attributes:
        rest: sends them; ``None`` for a worker without REST API, which cannot reach its leader.
        algorithm: signs them (``inter.worker.signature.algorithm``).
        namespace: of the group in the paths of the leader, percent-encoded and with a ``/`` at its end: a process of
            MirrorMaker serves several groups.
    """

    rest: RestClient | None
    algorithm: str
    namespace: str = ""

    def put_task_configs(
        self, leader_url: str | None, connector: str, configs: Sequence[Mapping[str, str]], key: SessionKey | None
    ) -> None:
        """Send the configurations of a connector's tasks.

        Args:
            leader_url: with a ``/`` at its end; ``None`` while the group has none.
            connector: name of the connector.
            configs: one for each task.
            key: the session key of the group.

        Raises:
            ConnectError: the leader cannot be reached, has no REST API, or refuses them.
        """
        self._request(leader_url, connector, "POST", "tasks", json.dumps(configs).encode(), key)

    def fence(self, leader_url: str | None, connector: str, key: SessionKey | None) -> None:
        """Have former producers of a connector's tasks fenced out. Arguments and errors as above."""
        self._request(leader_url, connector, "PUT", "fence", None, key)

    def _request(
        self, leader_url: str | None, connector: str, method: str, what: str, body: bytes | None, key: SessionKey | None
    ) -> None:
        if self.rest is None:
            raise ConnectError(
                "This worker cannot reach the leader of the group, which writes the configurations of tasks. Where "
                "several processes of MirrorMaker share the work, set dedicated.mode.enable.internal.rest=true and "
                "listeners in all of them."
            )
        if not leader_url:
            raise ConnectError(
                "Request to leader to reconfigure connector tasks failed because the URL of the leader's REST "
                "interface is empty!"
            )
        if not leader_url.startswith(_SCHEMES):
            raise ConnectError(
                f"The leader of the group has no REST interface: its URL is {leader_url}. Set "
                "dedicated.mode.enable.internal.rest=true and listeners in all processes of MirrorMaker that share the "
                "work."
            )
        url = f"{leader_url}{self.namespace}connectors/{quote(connector, safe='')}/{what}"
        self.rest.request(url, method, {}, body, key.key if key is not None else None, self.algorithm)
