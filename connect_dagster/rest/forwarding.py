"""Forward requests that another worker must handle (Java: ``HerderRequestHandler.completeOrForwardRequest``).

The query parameter ``forward`` counts the hops: the first worker sends ``true``, the second ``false``, and there is
no third. That is enough for a user's request to reach the leader and, from there, the worker that runs a task.
A signed request is not signed again, so that its second hop fails, as it does in Java.
"""

from __future__ import annotations

import logging
from urllib.parse import urlencode, urlsplit

from connect_dagster.client.inter_worker import Answer, RestClient
from connect_dagster.errors import RestError
from connect_dagster.herder.interface import RequestTargetError
from connect_dagster.rest.exchange import JSON, Call, Endpoint, Reply

log = logging.getLogger(__name__)

FORWARD = "forward"
NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
TOO_MANY_HOPS = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"


def forward(client: RestClient, endpoint: Endpoint, call: Call, error: RequestTargetError) -> Reply:
    """Return the other worker's reply.

    Args:
        client: sends the request.
        endpoint: what was asked.
        call: with which values.
        error: names the other worker.

    Raises:
        RestError: the other worker's error; 409 when it is not known, or the request has made two hops; 500 when
            the other worker cannot be reached.
    """
    if not call.flag(FORWARD, default=True):
        log.error(
            "Request '%s %s' failed because it couldn't find the target Connect worker "
            "within two hops (between workers).",
            endpoint.method,
            endpoint.target(call.params),
        )
        raise RestError(409, TOO_MANY_HOPS)
    if error.forward_url is None:
        raise RestError(409, NO_LEADER)
    url = f"{error.forward_url.rstrip('/')}{endpoint.target(call.params)}?{_query(endpoint, call)}"
    log.debug("Forwarding request %s %s", endpoint.method, url)
    return _reply(call, client.request(url, endpoint.method, _credentials(call), endpoint.resent(call)))


def _query(endpoint: Endpoint, call: Call) -> str:
    first_hop = not call.first(FORWARD)
    kept = [(name, value) for name in endpoint.kept if (value := call.first(name)) is not None]
    return urlencode([(FORWARD, str(first_hop).lower()), *kept])


def _credentials(call: Call) -> dict[str, str]:
    authorization = call.headers.get("authorization")
    return {} if authorization is None else {"Authorization": authorization}


def _reply(call: Call, answer: Answer) -> Reply:
    headers = {"Content-Type": JSON} if answer.body else {}
    if (location := answer.headers.get("location")) is not None:
        # The client gets the address that it knows.
        headers["Location"] = call.origin + urlsplit(location).path
    return Reply(answer.status, answer.body, headers)
