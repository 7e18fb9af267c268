"""Replies as responses of the web framework."""

from starlette.responses import Response

from connect_dagster.rest.exchange import Reply


def response_of(reply: Reply) -> Response:
    """Return the response that sends a reply."""
    return Response(reply.body, reply.status, dict(reply.headers))
