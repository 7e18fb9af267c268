"""Routes of the worker itself, not of a connector: its health, metrics, plugins and loggers.

``/`` and ``/health`` (Java: ``RootResource``), ``/connector-plugins`` (Java: ``ConnectorPluginsResource``),
``/admin/loggers`` (KIP-495, KIP-976; Java: ``LoggingResource``). ``/metrics`` and ``/dagster/progress`` are ours alone.
The names of metrics are those of the JMX exporter's usual configuration (docs/decisions/0008-metric-names.md).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from connect_dagster.errors import BadRequestError, ConnectError, NotFoundError
from connect_dagster.herder.interface import Health, HealthReport, Herder
from connect_dagster.rest import entities
from connect_dagster.rest.documents import read_config
from connect_dagster.rest.exchange import Call, Endpoint, Reply
from connect_dagster.rest.openapi_schemas import FLAG, TEXT, TEXTS, Operation, by_name, entity, listed, returns
from connect_dagster.worker.logs.levels import LEVELS
from connect_dagster.worker.metrics.families import Family

logger = logging.getLogger(__name__)

HEALTH_STATUS = {Health.HEALTHY: 200, Health.STARTING: 503, Health.UNHEALTHY: 500}

# Java: RestServer.DEFAULT_HEALTH_CHECK_TIMEOUT_MS
HEALTH_SECONDS = 10.0


def server_info(herder: Herder, _: Call) -> Reply:
    """Version of the worker, and the Kafka cluster it belongs to."""
    return Reply.json(entities.server_info(herder.server_info()))


def health(herder: Herder, _: Call) -> Reply:
    """Report whether the worker has started and responds (KIP-1017)."""
    return _health_reply(herder.health())


def progress(herder: Herder, _: Call) -> Reply:
    """Progress of the Spark stream of each task on this worker."""
    return Reply.json(herder.progress())


def unhealthy(stage: str) -> Reply:
    """Return the health of a worker that did not report it in time."""
    message = "Worker was unable to handle this request and may be unable to handle other requests."
    return _health_reply(HealthReport(Health.UNHEALTHY, f"{message} {stage}"))


def _health_reply(report: HealthReport) -> Reply:
    return Reply.json(entities.health(report), HEALTH_STATUS[report.health])


_HEALTH = Operation(
    {200: entity("Health"), 503: entity("Health"), 500: {"anyOf": [entity("Health"), entity("ErrorMessage")]}}
)

ROOT_ROUTES = (
    Endpoint("GET", "/", server_info, returns(entity("ServerInfo")), json_only=False, reserved=True),
    Endpoint("GET", "/health", health, _HEALTH, json_only=False, seconds=HEALTH_SECONDS, late=unhealthy, reserved=True),
    Endpoint("GET", "/dagster/progress", progress, returns(by_name({"type": "object"})), json_only=False),
)


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

METRICS_ROUTES = (Endpoint("GET", "/metrics", metrics, returns(TEXT), json_only=False, produces=MEDIA_TYPES),)


ALIAS_SUFFIX = "Connector"
LATEST = "latest"


def list_plugins(herder: Herder, call: Call) -> Reply:
    """Connectors, or with ``connectorsOnly=false`` all plugins."""
    plugins = herder.plugins(connectors_only=call.flag("connectorsOnly", default=True))
    return Reply.json([entities.plugin(info) for info in plugins])


def plugin_config(herder: Herder, call: Call) -> Reply:
    """Configuration keys of a plugin."""
    version = call.first("version") or LATEST
    return Reply.json(herder.plugin_config(call.params["plugin"], None if version == LATEST else version))


def validate_config(herder: Herder, call: Call) -> Reply:
    """Check a configuration against the keys of its connector."""
    config = read_config(call.body)
    requested, included = call.params["plugin"], config.get("connector.class")
    if included is not None and not _pruned(included).endswith(_pruned(requested)):
        raise BadRequestError(f"Included connector type {included} does not match request type {requested}")
    try:
        return Reply.json(herder.validate(config))
    except BadRequestError as error:
        # Java loses the status here: the validation runs in a future whose failure is wrapped.
        raise ConnectError(f"{error.java_name}: {error}") from error


def _pruned(name: str) -> str:
    return name.removesuffix(ALIAS_SUFFIX) or name


_LISTED = returns(listed("PluginInfo"), query={"connectorsOnly": {**FLAG, "default": True}})
_DESCRIBED = returns(listed("ConfigKeyInfo"), query={"version": TEXT})
_VALIDATED = returns(entity("ConfigInfos"), body=entity("Config"))

PLUGIN_ROUTES = (
    Endpoint("GET", "/connector-plugins", list_plugins, _LISTED),
    Endpoint("GET", "/connector-plugins/{plugin}/config", plugin_config, _DESCRIBED),
    Endpoint("PUT", "/connector-plugins/{plugin}/config/validate", validate_config, _VALIDATED, reads_body=True),
)

SCOPES = frozenset({"worker", "cluster"})


def list_loggers(herder: Herder, _: Call) -> Reply:
    """All loggers with their levels, sorted by name."""
    levels = sorted(herder.loggers().items())
    return Reply.json({name: entities.logger_level(level) for name, level in levels})


def logger_level(herder: Herder, call: Call) -> Reply:
    """Level of one logger."""
    return Reply.json(entities.logger_level(herder.logger(call.params["logger"])))


def set_level(herder: Herder, call: Call) -> Reply:
    """Set the level of a namespace; returns the changed loggers, or nothing in the scope ``cluster``."""
    namespace, level = call.params["logger"], _level(call)
    if _scope(call) == "cluster":
        herder.set_cluster_logger_level(namespace, level)  # written as it was sent, as in Java
        return Reply(204)
    return Reply.json(herder.set_logger_level(namespace, level.upper()))


def _level(call: Call) -> str:
    level = read_config(call.body).get("level")
    if level is None:
        raise BadRequestError("Desired 'level' parameter was not specified in request.")
    if level.upper() not in LEVELS:
        raise NotFoundError(f"invalid log level '{level}'.")
    return level


def _scope(call: Call) -> str:
    given = call.first("scope")
    scope = "worker" if given is None else given.lower()
    if scope not in SCOPES:
        logger.warning("Received invalid scope '%s' in request to adjust logging level; will default to worker", given)
    return scope


_LEVEL_SET = Operation(
    {200: TEXTS, 204: None},
    {"scope": {"enum": ["worker", "cluster"], "default": "worker"}},
    body=entity("NewLevel"),
)

ADMIN_ROUTES = (
    Endpoint("GET", "/admin/loggers", list_loggers, returns(by_name(entity("LoggerLevel")))),
    Endpoint("GET", "/admin/loggers/{logger}", logger_level, returns(entity("LoggerLevel"))),
    Endpoint("PUT", "/admin/loggers/{logger}", set_level, _LEVEL_SET, reads_body=True),
)
