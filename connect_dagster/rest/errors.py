"""Turn an exception into the response that reports it (Java: ``ConnectExceptionMapper``).

Every class of :mod:`connect_dagster.errors` knows its status; anything else is a fault of ours or of a
plugin: 500 with its own text, and a trace in the log.
"""

from __future__ import annotations

import logging
from http import HTTPStatus

from connect_dagster.errors import ConnectError
from connect_dagster.rest.exchange import Reply

logger = logging.getLogger(__name__)


def reply_to_error(error: BaseException, target: str) -> Reply:
    """Return the reply to a call that failed.

    Args:
        error: what the route or the herder raised.
        target: path of the call, for the log.
    """
    status = error.status if isinstance(error, ConnectError) else HTTPStatus.INTERNAL_SERVER_ERROR
    level = logging.ERROR if status == HTTPStatus.INTERNAL_SERVER_ERROR else logging.DEBUG
    logger.log(level, "Uncaught exception in REST call to %s", target, exc_info=error)
    # An exception without text is reported by its class.
    return Reply.error(int(status), str(error) or type(error).__name__)


def reply_to_refusal(status: int, *, typed: bool = False) -> Reply:
    """Return a refusal by the framework (path, method, media type), for which Java names no content type."""
    return Reply.error(status, f"HTTP {status} {HTTPStatus(status).phrase}", typed=typed)
