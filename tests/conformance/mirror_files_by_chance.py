"""Generated mm2.properties: every kind of property that Java's rules treat in its own way, at random."""

from __future__ import annotations

import random

# Aliases that are prefixes of each other, have dots, or look like something else.
ALIASES = ("A", "B", "us", "us.east", "source", "target", "consumer", "a b", "prod-1")
_ACCESS = ("bootstrap.servers", "security.protocol", "ssl.key.password", "sasl.mechanism", "sasl.jaas.config")
_CLUSTERS = (
    *_ACCESS,
    "group.id",
    "client.id",
    "key.converter",
    "offset.storage.topic",
    "config.storage.replication.factor",
    "exactly.once.source.support",
    "request.timeout.ms",
    "admin.timeout.ms",
    "administrator",
    "alias",
    "security.providers",
    "replication.policy.separator",
    *(f"{kind}.{name}" for kind in ("consumer", "producer", "admin") for name in (*_ACCESS, "client.id", "x")),
)
_FLOWS = (
    "topics",
    "groups",
    "use.defaults.from",
    "name",
    "source.cluster.bootstrap.servers",
    "source.consumer.bootstrap.servers",
    "target.cluster.alias",
    "source.cluster.alias",
    "transforms.x.type",
    "producer.override.acks",
    "config.providers.z.class",
)
_TOP = (
    *_ACCESS,
    "topics",
    "topics.exclude",
    "groups",
    "name",
    "connector.class",
    "tasks.max",
    "enabled",
    "errors.tolerance",
    "transforms",
    "transforms.x.type",
    "use.defaults.from",
    "source.cluster.alias",
    "source.cluster.bootstrap.servers",
    "consumer.fetch.min.bytes",
    "consumer.poll.timeout.ms",
    "replication.policy.class",
    "replication.policy.other",
    "replication.factor",
    "offset.storage.topic",
    "offset.storage",
    "config.storage.x",
    "status.storage.partitions",
    "key.converter",
    "key.converter.plugin.version",
    "header.converter.x",
    "worker.sync.timeout.ms",
    "task.shutdown.graceful.timeout.ms",
    "offset.flush.interval.ms",
    "group.id",
    "metric.names.formats",
    "metric.reporters",
    "config.providers.z.class",
    "unknown",
)
_SWITCHES = ("true", "false", "TRUE", "False")
# What Java parses when it reads the file, before it makes anything of it.
_VALUES = {
    "security.protocol": ("SSL", "PLAINTEXT", "SASL_SSL"),
    "enabled": _SWITCHES,
    "emit.heartbeats.enabled": _SWITCHES,
}


def mirror_file(seed: int) -> dict[str, str]:
    """Return the properties of one file."""
    draw = random.Random(seed)
    clusters = draw.sample(ALIASES, draw.choice((2, 2, 3)))
    # Java then reads the class path once for each file.
    found = {"clusters": ", ".join(clusters), "plugin.discovery": "service_load"}
    for name in _some(draw, _TOP):
        found[name] = _value(draw, name, name)
    for alias in clusters:
        for name in _some(draw, _CLUSTERS):
            found[f"{alias}.{name}"] = _value(draw, name, f"{alias} {name}")
    for source in clusters:
        for target in (one for one in clusters if one != source):
            for name in (*_some(draw, _FLOWS), *_some(draw, ("enabled", "emit.heartbeats.enabled"))):
                found[f"{source}->{target}.{name}"] = _value(draw, name, f"{source} {target} {name}")
    if draw.random() < 0.3:
        found["emit.heartbeats.enabled"] = draw.choice(_SWITCHES)
    return found


def _some(draw: random.Random, names: tuple[str, ...]) -> list[str]:
    return draw.sample(names, draw.randint(0, len(names)))


def _value(draw: random.Random, name: str, otherwise: str) -> str:
    return draw.choice(_VALUES.get(name, (otherwise,)))
