"""Default lists of the filters (Java: ``DefaultTopicFilter`` and its siblings).

TO BE JOINED: ``filters.py`` has the same lists under the same names; this module then goes.
"""

from __future__ import annotations

DEFAULT_TOPICS = (".*",)
DEFAULT_TOPICS_EXCLUDE = (r"mm2.*\.internal", r".*\.replica", "__.*")
DEFAULT_GROUPS = (".*",)
DEFAULT_GROUPS_EXCLUDE = ("console-consumer-.*", "connect-.*", "__.*")
DEFAULT_CONFIG_PROPERTIES_EXCLUDE = (
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "message.timestamp.difference.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.after.max.ms",
    "message.timestamp.type",
    "unclean.leader.election.enable",
    "min.insync.replicas",
)
