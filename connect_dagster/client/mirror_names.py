"""Names of a flow's topics on both clusters, from the configuration of one of MirrorMaker's connectors.

Knows the two policies of Java, by their simple names, so that copies of them in other packages are known as well. Of
any other policy the names are not known: its topics are learnt from the worker.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connect_dagster.connectors.mirror.names import ReplicationPolicy

SOURCE_ALIAS, TARGET_ALIAS = "source.cluster.alias", "target.cluster.alias"
POLICY_CLASS = "replication.policy.class"
SYNCS_LOCATION = "offset-syncs.topic.location"


@dataclass(frozen=True, slots=True)
class MirrorNames:
    """A flow with the names of its topics.

    Attributes:
        source: Alias of the cluster that is mirrored.
        target: Alias of the cluster that receives its records.
        policy_name: Simple name of the policy's class.
        policy: The policy; of an unknown class, the one that names MirrorMaker's own topics by default.
        is_known: Whether the policy also names mirrored topics.
        syncs_at_source: Whether the topic of offset syncs is in the source, as by default.
    """

    source: str
    target: str
    policy_name: str
    policy: "ReplicationPolicy"
    is_known: bool
    syncs_at_source: bool

    @classmethod
    def of(cls, config: Mapping[str, str | None]) -> "MirrorNames":
        """Read the names off the configuration of a connector.

        Args:
            config: Of one of the three connectors. Java's default is taken for an alias of the target that is
                missing, and ``source`` for that of the source, which a valid configuration has.
        """
        # Most definitions have no flow, and load no connector's code.
        from connect_dagster.connectors.mirror.names import BUNDLED_POLICIES, DefaultReplicationPolicy

        known = {policy.__name__: policy for policy in BUNDLED_POLICIES.values()}
        given = {name: value for name, value in config.items() if value}
        source, target = given.get(SOURCE_ALIAS, "source"), given.get(TARGET_ALIAS, "target")
        name = given.get(POLICY_CLASS, DefaultReplicationPolicy.__name__).rpartition(".")[2]
        policy = known.get(name, DefaultReplicationPolicy)()
        policy.configure({**given, SOURCE_ALIAS: source})
        return cls(source, target, name, policy, name in known, given.get(SYNCS_LOCATION, "source") == "source")

    @property
    def flow(self) -> str:
        """Return the flow as MirrorMaker writes it."""
        return f"{self.source}->{self.target}"

    def remote(self, topic: str) -> str | None:
        """Return the name in the target of a topic of the source; None when it is not known."""
        return self.policy.format_remote_topic(self.source, topic) if self.is_known else None

    def upstream(self, topic: str) -> str | None:
        """Return the name in the source of a topic of the target; None when it does not come from there."""
        comes_from_source = self.is_known and self.policy.topic_source(topic) == self.source
        return self.policy.upstream_topic(topic) if comes_from_source else None

    def sources(self, topic: str) -> tuple[str, ...]:
        """Return the clusters that a topic of the target came over, the last one first."""
        found: list[str] = []
        upstream: str | None = topic
        while upstream is not None:
            source = self.policy.topic_source(upstream)
            if source is None or source in found:
                break
            found.append(source)
            upstream = self.policy.upstream_topic(upstream)
        return tuple(found)

    def is_state(self, topic: str) -> bool:
        """Return whether a topic has MirrorMaker's own records: heartbeats, checkpoints or offset syncs."""
        return self.policy.is_heartbeats_topic(topic) or self.policy.is_mm2_internal_topic(topic)

    @property
    def offset_syncs(self) -> str:
        """Return the topic of offset syncs, which is named after the cluster where it is not (KIP-716)."""
        return self.policy.offset_syncs_topic(self.target if self.syncs_at_source else self.source)

    @property
    def checkpoints(self) -> str:
        """Return the topic of checkpoints, which is in the target."""
        return self.policy.checkpoints_topic(self.source)

    @property
    def heartbeats(self) -> str:
        """Return the topic in the target with the heartbeats of the source."""
        return self.policy.format_remote_topic(self.source, self.policy.heartbeats_topic())
