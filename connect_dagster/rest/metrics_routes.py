"""``/metrics``, which is ours alone: the worker's metrics for Prometheus, as text or in the form of OpenMetrics.

The names are those of the JMX exporter's usual configuration (docs/decisions/0008-metric-names.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from connect_dagster.herder.interface import Herder
from connect_dagster.rest.exchange import Call, Endpoint, Reply
from connect_dagster.rest.openapi_schemas import TEXT, returns
from connect_dagster.worker.metrics.families import Family


@dataclass(frozen=True, slots=True)
class _Families(Collector):
    """Measured values as the encoders of ``prometheus_client`` take it; no registry outlives a request."""

    measured: Sequence[Family]

    def collect(self) -> Iterator[Metric]:
        for family in self.measured:
            kind = CounterMetricFamily if family.counts else GaugeMetricFamily
            exposed = kind(family.name, family.help)
            for sample in family.samples:
                exposed.add_sample(family.name, dict(sample.labels), sample.value)
            yield exposed


def metrics(herder: Herder, call: Call) -> Reply:
    """All metrics of this worker, in the format that the client prefers."""
    encode, content_type = choose_encoder(call.headers.get("accept", ""))
    return Reply(200, encode(_Families(herder.metrics())), {"Content-Type": content_type})


MEDIA_TYPES = ("text/plain", "application/openmetrics-text")

ROUTES = (Endpoint("GET", "/metrics", metrics, returns(TEXT), json_only=False, produces=MEDIA_TYPES),)
