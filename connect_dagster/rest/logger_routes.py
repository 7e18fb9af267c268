"""``/admin/loggers``: levels of the worker's loggers (KIP-495, KIP-976; Java: ``LoggingResource``)."""

from __future__ import annotations

import logging

from connect_dagster.errors import BadRequestError, NotFoundError
from connect_dagster.herder.interface import Herder
from connect_dagster.rest import entities
from connect_dagster.rest.documents import read_config
from connect_dagster.rest.exchange import Call, Endpoint, Reply
from connect_dagster.rest.openapi_schemas import TEXTS, Operation, by_name, entity, returns

logger = logging.getLogger(__name__)

LEVELS = frozenset({"OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"})
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

ROUTES = (
    Endpoint("GET", "/admin/loggers", list_loggers, returns(by_name(entity("LoggerLevel")))),
    Endpoint("GET", "/admin/loggers/{logger}", logger_level, returns(entity("LoggerLevel"))),
    Endpoint("PUT", "/admin/loggers/{logger}", set_level, _LEVEL_SET, reads_body=True),
)
