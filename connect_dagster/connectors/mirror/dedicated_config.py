"""Options of the dedicated process, from mm2.properties (Java: ``MirrorMakerConfig``, KIP-382).

    clusters = A, B
    A.bootstrap.servers = a1:9092
    B.bootstrap.servers = b1:9092
    A->B.enabled = true

A flow also exists where it only emits heartbeats, which is the default for both directions: B->A writes heartbeats to
A, and A->B replicates them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from connect_dagster.connectors.mirror.connector_classes import (
    IDENTITY_REPLICATION_POLICY,
    REPLICATION_POLICY_CLASS,
)
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.flow_properties import all_flows, check_flow_properties
from connect_dagster.connectors.mirror.heartbeat_config import EMIT_HEARTBEATS
from connect_dagster.connectors.mirror.shared_options import ENABLED
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import ConfigDef, Importance, Type, UniqueValues, config_key, parse_value

REST_PREFIXES = ("listeners", "rest.advertised.", "ssl.")
"""Settings of the internal REST API."""


class DedicatedConfig(ConfigDef):
    """Options of the process itself; ``originals`` has all properties, with values in place of placeholders."""

    clusters: tuple[str, ...] = config_key(
        "clusters", importance=Importance.HIGH, validator=UniqueValues(), doc="Aliases of the clusters, between commas."
    )
    internal_rest: bool = config_key(
        "dedicated.mode.enable.internal.rest",
        default=False,
        importance=Importance.HIGH,
        doc="Whether processes of one group reach each other over an internal REST API, which several processes and "
        "exactly-once need; listeners and rest.advertised.* configure it.",
    )
    config_providers: tuple[str, ...] = config_key(
        "config.providers",
        default=(),
        importance=Importance.LOW,
        validator=UniqueValues(),
        doc="Names of config providers, each with its config.providers.<name>.class and .param.*; "
        "${<name>:<path>:<key>} in a property is replaced by the provider's value.",
    )

    def with_rest(self, worker: Mapping[str, str]) -> dict[str, str]:
        """Return settings of a worker with those of the internal REST API in their place.

        All workers of the process share the API, whose certificates are not those for a cluster.
        """
        kept = {name: value for name, value in worker.items() if not name.startswith(REST_PREFIXES)}
        return kept | {name: value for name, value in self.originals.items() if name.startswith(REST_PREFIXES)}

    def flows(self, targets: Collection[str] = ()) -> list[Flow]:
        """Return the flows to some clusters, in the order of the clusters (Java: ``clusterPairs``).

        Args:
            targets: aliases from ``--clusters``; none for all.

        Raises:
            ConfigError: no flow exists, a target is unknown, or a line sets no property of a flow.
        """
        unknown = [target for target in targets if target not in self.clusters]
        if unknown:
            listed = ", ".join(self.clusters)
            raise ConfigError(f"--clusters names {', '.join(unknown)}, which is not in clusters={listed}.")
        check_flow_properties(self.originals, self.clusters)
        chosen = targets or self.clusters
        found = [flow for flow in all_flows(self.clusters) if flow.target in chosen and self._exists(flow)]
        if not found:
            raise ConfigError("No source->target replication flows.")
        return found

    def keeps_names(self, flow: Flow) -> bool:
        """Return whether a flow replicates topics under the names that they have in the source."""
        policies = (self.originals.get(f"{prefix}{REPLICATION_POLICY_CLASS}") for prefix in (flow.prefix, ""))
        policy = next(filter(None, policies), None)
        return policy == IDENTITY_REPLICATION_POLICY and self._boolean(f"{flow}.{ENABLED}", False)

    def _exists(self, flow: Flow) -> bool:
        emits = self._boolean(EMIT_HEARTBEATS, True)
        return self._boolean(f"{flow}.{ENABLED}", False) or self._boolean(f"{flow}.{EMIT_HEARTBEATS}", emits)

    def _boolean(self, name: str, default: bool) -> bool:
        return bool(parse_value(name, self.originals.get(name, default), Type.BOOLEAN))
