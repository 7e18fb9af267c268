"""Settings of Java's admin client beyond the common ones (Java: ``AdminClientConfig``)."""

from __future__ import annotations

from connect_dagster.kafka.settings.rows import Ignored, Together, between, row, same
from connect_dagster.plugin.config import Importance, Type

_H, _M, _L = Importance.HIGH, Importance.MEDIUM, Importance.LOW
_MAX_INT = 2**31 - 1

ADMIN = (
    row(
        "bootstrap.controllers",
        Type.LIST,
        (),
        _H,
        Ignored("librdkafka asks brokers only: use bootstrap.servers"),
        "Controllers to find the cluster by.",
    ),
    row("bootstrap.servers", Type.LIST, (), _H, same("bootstrap.servers"), "Brokers to find the cluster by."),
    row(
        "connections.max.idle.ms",
        Type.LONG,
        300_000,
        _M,
        same("connections.max.idle.ms", turn=between(0)),
        "When an idle connection is closed; negative for never.",
    ),
    row(
        "default.api.timeout.ms",
        Type.INT,
        60_000,
        _M,
        Together("kafka.topic_admin"),
        "How long a call of the client may take.",
    ),
    row(
        "enable.metrics.push",
        Type.BOOLEAN,
        False,
        _L,
        same("enable.metrics.push"),
        "Whether brokers may ask for metrics.",
    ),
    row("retries", Type.INT, _MAX_INT, _L, Ignored("requests are repeated as long as there is time"), "Tries."),
)
