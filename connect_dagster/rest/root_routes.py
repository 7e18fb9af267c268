"""``/`` and ``/health`` (Java: ``RootResource``), and ``/dagster/progress``, which is ours alone."""

from __future__ import annotations

from connect_dagster.herder.interface import Health, HealthReport, Herder
from connect_dagster.rest import entities
from connect_dagster.rest.exchange import Call, Endpoint, Reply
from connect_dagster.rest.openapi_schemas import Operation, by_name, entity, returns

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

ROUTES = (
    Endpoint("GET", "/", server_info, returns(entity("ServerInfo")), json_only=False),
    Endpoint("GET", "/health", health, _HEALTH, json_only=False, seconds=HEALTH_SECONDS, late=unhealthy),
    Endpoint("GET", "/dagster/progress", progress, returns(by_name({"type": "object"})), json_only=False),
)
