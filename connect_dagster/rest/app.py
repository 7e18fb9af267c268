"""The ASGI application: the route tables on Starlette, with Kafka Connect's rules for what all routes share.

Paths are matched as they were sent and decoded part by part, so that an escaped ``/`` stays inside a
connector's name; matrix parameters (``;a=b``) and one trailing ``/`` are ignored, as in Java. Content types
are checked as JAX-RS does, then users and signatures, then bodies are read. Routes run in threads, each with its time
limit (Java: RestRequestTimeout), which also forward requests for another worker.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import TypeVar
from urllib.parse import parse_qsl, unquote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from connect_dagster.client.inter_worker import RestClient
from connect_dagster.errors import ConnectError, RestError
from connect_dagster.herder.interface import Herder, RequestTargetError
from connect_dagster.plugin.rest_extension import RestExtension
from connect_dagster.protocol.signature import UNSIGNED, RequestSignature
from connect_dagster.rest import connector_routes, operation_routes, worker_routes
from connect_dagster.rest.documents import most_values
from connect_dagster.rest.exchange import JSON, TEXT, Call, Endpoint, Reply
from connect_dagster.rest.extensions import Extended
from connect_dagster.rest.forwarding import forward
from connect_dagster.rest.limits import LIMITS, VALUE_BYTES, Limits, Quota, Share
from connect_dagster.rest.openapi import openapi_endpoint
from connect_dagster.rest.replies import response_of

log = logging.getLogger(__name__)

Result = TypeVar("Result")

ADMIN_ENDPOINTS: tuple[Endpoint, ...] = worker_routes.ADMIN_ROUTES
"""Endpoints that ``admin.listeners`` may take away from the other listeners."""

USER_ENDPOINTS: tuple[Endpoint, ...] = (
    *worker_routes.ROOT_ROUTES,
    *worker_routes.METRICS_ROUTES,
    *connector_routes.ROUTES,
    *operation_routes.ROUTES,
    *operation_routes.INTERNAL_ROUTES,
    *connector_routes.OFFSET_ROUTES,
    *worker_routes.PLUGIN_ROUTES,
)
ENDPOINTS: tuple[Endpoint, ...] = (*USER_ENDPOINTS, *ADMIN_ENDPOINTS)

MATRIX_PARAMETERS = re.compile(r";[^/]*")
PLAIN_CLIENT = RestClient()
BODIES_FULL = "The worker is reading as many bodies as it can hold: try again later"
THREADS_FULL = "The worker is handling as many requests as it can: try again later"
UNAUTHENTICATED = Reply(401, b"User cannot access the resource.", {"WWW-Authenticate": 'Basic realm="KafkaConnect"'})

Admits = Callable[[str | None], bool]
"""Returns whether a user is admitted, from the header ``Authorization``."""


def everyone(_: str | None) -> bool:
    """Admits all."""
    return True


@dataclass(frozen=True, slots=True)
class _Context:
    herder: Herder
    client: RestClient
    admits: Admits
    limits: Limits
    bodies: Quota
    internal_bodies: Quota
    threads: Mapping[str, Quota]


def create_app(
    herder: Herder,
    endpoints: Iterable[Endpoint] = ENDPOINTS,
    client: RestClient = PLAIN_CLIENT,
    admits: Admits = everyone,
    limits: Limits = LIMITS,
    *,
    described: bool = True,
    extensions: Sequence[RestExtension] = (),
) -> ASGIApp:
    """Return the application that serves a herder.

    Args:
        herder: what is operated.
        endpoints: the route table.
        client: sends requests to other workers.
        admits: accepts or refuses users.
        limits: on bodies and threads.
        described: adds ``/openapi.json``, with the routes for users.
        extensions: run before the routes, in their order.
    """
    table = tuple(endpoints)
    if described:
        table = (*table, openapi_endpoint(table))
    bodies, internal = Quota(limits.bodies_bytes), Quota(limits.bodies_bytes)
    context = _Context(herder, client, admits, limits, bodies, internal, _threads(table, limits))
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in table:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    app = Starlette(
        routes=[_route(context, path, methods) for path, methods in by_path.items()],
        exception_handlers={HTTPException: _refuse},
    )
    app.router.redirect_slashes = False
    return partial(_with_raw_path, Extended(app, herder, extensions, table) if extensions else app)


def _threads(endpoints: Iterable[Endpoint], limits: Limits) -> Mapping[str, Quota]:
    """Return the threads for each path: most paths share theirs."""
    shared = Quota(limits.threads)
    return {one.path: Quota(limits.reserved_threads) if one.reserved else shared for one in endpoints}


async def _with_raw_path(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    raw: bytes = scope["raw_path"]
    path = MATRIX_PARAMETERS.sub("", raw.decode("latin-1"))
    await app({**scope, "path": path.removesuffix("/") or "/"}, receive, send)


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return response_of(_reply_to_refusal(error.status_code))


def _route(context: _Context, path: str, methods: Mapping[str, Endpoint]) -> Route:
    heads = {"HEAD": methods["GET"]} if "GET" in methods else {}
    by_method = {**heads, **methods}
    options = _options([*by_method, "OPTIONS"])

    async def serve(request: Request) -> Response:
        endpoint = by_method.get(request.method)
        if endpoint is None:
            return response_of(_refused_user(context, request, TEXT) or options)
        return response_of(await _answer(context, endpoint, request))

    return Route(path, serve, methods=[*by_method, "OPTIONS"])


def _options(methods: list[str]) -> Reply:
    return Reply(200, ", ".join(methods).encode(), {"Allow": ",".join(methods), "Content-Type": TEXT})


async def _answer(context: _Context, endpoint: Endpoint, request: Request) -> Reply:
    if refused := _refused_media(endpoint, request) or _refused_sender(context, endpoint, request):
        return refused
    held = ExitStack()
    try:
        return await _reply(context, endpoint, request, held)
    except asyncio.CancelledError:
        # The server stops and cuts off what still runs; swallowed so that the client gets a reply.
        return Reply.error(500, "Request interrupted")
    except ClientDisconnect:
        return Reply.error(400, "The client closed the connection before the end of the body")
    except RestError as error:
        return Reply.error(error.status, str(error))
    finally:
        held.close()


async def _reply(context: _Context, endpoint: Endpoint, request: Request, held: ExitStack) -> Reply:
    # Anybody may send a body to a route among workers: it takes no room from those of users.
    share = Share(context.internal_bodies if endpoint.internal else context.bodies)
    held.callback(share.give_back)
    body = await _body(context.limits, request, share)
    if body and endpoint.reads_body and "content-type" not in request.headers:
        return _reply_to_refusal(415, typed=True)
    threads = context.threads[endpoint.path]
    if not threads.take():
        raise RestError(503, THREADS_FULL)
    held.callback(threads.give_back)
    target = request.scope["raw_path"].decode("latin-1")
    began = datetime.now(UTC)
    try:
        work = partial(_settled, endpoint, context, _call(request, body), target)
        return await _within(endpoint.seconds, work, f"rest-{request.method}-{target}", held)
    except TimeoutError:
        return endpoint.late(context.herder.stage() or _stage(f"handling {request.method} {target}", began))


async def _body(limits: Limits, request: Request, share: Share) -> bytes:
    """Read the body.

    Args:
        limits: on its size, and on the time it takes.
        request: whose body.
        share: its part of the memory for bodies.

    Raises:
        RestError: 413 the body is too large or has too many values, 408 it takes too long, 503 other bodies leave no
            room for it.
        ClientDisconnect: the client left.
    """
    if int(request.headers.get("content-length", 0)) > limits.body_bytes:
        raise _too_large(limits)
    body = bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                if len(body) + len(part) > limits.body_bytes:
                    raise _too_large(limits)
                if not share.grow(len(part)):
                    raise RestError(503, BODIES_FULL)
                body += part
    except TimeoutError as error:
        raise RestError(408, f"The body did not come within {limits.body_seconds:g} seconds") from error
    if (values := most_values(body)) > limits.body_values:
        raise RestError(413, f"The body has more than {limits.body_values} JSON values")
    if not share.grow(values * VALUE_BYTES):
        raise RestError(503, BODIES_FULL)
    return bytes(body)


def _too_large(limits: Limits) -> RestError:
    # Made where it is raised: a local name would keep the body, by the frame in the traceback, for the collector.
    return RestError(413, f"The body is larger than {limits.body_bytes} bytes")


async def _within(seconds: float, work: Callable[[], Result], name: str, held: ExitStack) -> Result:
    """Return the result of ``work``, which runs in its own daemon thread, waited for only so long.

    A call that never returns keeps its thread, but neither the client, other calls, nor the end of the process wait
    for it; that is why no thread pool is used, whose threads the interpreter joins at exit.

    Args:
        seconds: how long to wait.
        work: what to do; may block.
        name: the thread's name.
        held: resources of the request, which the thread closes when the work ends.

    Raises:
        TimeoutError: it takes longer; the work continues, its outcome is dropped.
    """
    outcome: Future[Result] = Future()
    # From now on a cancelled wait leaves the future alone, so that the thread can still set it.
    outcome.set_running_or_notify_cancel()
    threads = held.pop_all()
    try:
        threading.Thread(target=_set, args=(outcome, work, threads), name=name, daemon=True).start()
    except RuntimeError:
        # The system has no more threads.
        threads.close()
        raise
    return await asyncio.wait_for(asyncio.wrap_future(outcome), seconds)


def _set(outcome: Future[Result], work: Callable[[], Result], held: ExitStack) -> None:
    try:
        with held:
            result = work()
    except BaseException as error:
        outcome.set_exception(error)
    else:
        outcome.set_result(result)


def _settled(endpoint: Endpoint, context: _Context, call: Call, target: str) -> Reply:
    try:
        try:
            return endpoint.answer(context.herder, call)
        except RequestTargetError as error:
            return forward(context.client, endpoint, call, error)
    except Exception as error:
        # The border: whatever a herder or a plugin raises becomes a reply.
        return _reply_to_error(error, target, context.herder.masked)


def _reply_to_error(error: BaseException, target: str, masked: Callable[[str], str]) -> Reply:
    """Return the reply to a call that failed (Java: ``ConnectExceptionMapper``).

    Every class of :mod:`connect_dagster.errors` knows its status; anything else is a fault of ours or of a plugin:
    500 with its own text, which may quote a secret of a configuration, and a trace in the log.

    Args:
        error: what the route or the herder raised.
        target: path of the call, for the log.
        masked: returns a text without secrets.
    """
    status = error.status if isinstance(error, ConnectError) else HTTPStatus.INTERNAL_SERVER_ERROR
    level = logging.ERROR if status == HTTPStatus.INTERNAL_SERVER_ERROR else logging.DEBUG
    log.log(level, "Uncaught exception in REST call to %s", target, exc_info=error)
    # An exception without text is reported by its class.
    text = str(error) or type(error).__name__
    return Reply.error(int(status), masked(text) if status == HTTPStatus.INTERNAL_SERVER_ERROR else text)


def _reply_to_refusal(status: int, *, typed: bool = False) -> Reply:
    """Return a refusal by the framework (path, method, media type), for which Java names no content type."""
    return Reply.error(status, f"HTTP {status} {HTTPStatus(status).phrase}", typed=typed)


def _stage(activity: str, began: datetime) -> str:
    # Java: Stage.summarize
    instant = began.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"The worker is currently {activity}, which began at {instant}."


def _refused_media(endpoint: Endpoint, request: Request) -> Reply | None:
    declared = request.headers.get("content-type")
    if endpoint.json_only and declared is not None and _media_type(declared) != JSON:
        return _reply_to_refusal(415)
    accepted = chain.from_iterable(line.split(",") for line in request.headers.getlist("accept"))
    ranges = {_media_type(media_range) for media_range in accepted}
    if ranges and not any(ranges & _ranges_of(media) for media in endpoint.produces):
        return _reply_to_refusal(406)
    return None


def _refused_sender(context: _Context, endpoint: Endpoint, request: Request) -> Reply | None:
    if endpoint.internal:
        return _refused_unsigned(context, request)
    return _refused_user(context, request, endpoint.produces[0])


def _refused_unsigned(context: _Context, request: Request) -> Reply | None:
    """Refuse a request among workers that cannot be one before its body is read, which anybody may send."""
    try:
        signature = RequestSignature.of(b"", request.headers)
    except ValueError as error:
        return Reply.error(400, str(error))
    if signature is None and context.herder.requires_signature:
        return Reply.error(400, UNSIGNED)
    return None


def _refused_user(context: _Context, request: Request, media: str) -> Reply | None:
    if context.admits(request.headers.get("authorization")):
        return None
    return replace(UNAUTHENTICATED, headers={**UNAUTHENTICATED.headers, "Content-Type": media})


def _media_type(value: str) -> str:
    return value.partition(";")[0].strip().lower()


def _ranges_of(media: str) -> set[str]:
    return {media, f"{media.partition('/')[0]}/*", "*/*"}


def _call(request: Request, body: bytes) -> Call:
    params = {name: unquote(value) for name, value in request.path_params.items()}
    headers = dict(reversed(request.headers.items()))
    return Call(_origin(request), params, _query(request), body, headers)


def _query(request: Request) -> dict[str, tuple[str, ...]]:
    query: dict[str, tuple[str, ...]] = {}
    for name, value in parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True):
        query[name] = (*query.get(name, ()), value)
    return query


def _origin(request: Request) -> str:
    host, port = request.scope.get("server") or ("localhost", None)
    named = request.headers.get("host") or (f"{host}:{port}" if port else host)
    return f"{request.scope['scheme']}://{named}"
