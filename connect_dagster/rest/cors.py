"""Cross-origin requests (``access.control.allow.*``), handled as by Jetty's ``CrossOriginHandler`` in Java.

Unlike Starlette's middleware it serves a preflight request too, allows no credentials, and takes origins as
regular expressions.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect_dagster.errors import ConfigError
from connect_dagster.java.bounded_patterns import BoundedPattern, PatternSyntaxError, RunawayPatternError

log = logging.getLogger(__name__)

ANY = "*"
DEFAULT_METHODS = "GET,POST,HEAD"
ORIGIN_SETTING = "access.control.allow.origin"
PREFLIGHT_SECONDS = 60
LONGEST_ORIGINS = 1_000
"""Characters of a header ``Origin``; a longer one is not allowed."""
_MATCH_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class CorsRules:
    """Origins and methods that are allowed from elsewhere.

    Attributes:
        origins: regular expressions; empty for any origin.
        methods: value of the header that names the allowed methods.
    """

    origins: tuple[BoundedPattern, ...] = ()
    methods: str = DEFAULT_METHODS

    @classmethod
    def parse(cls, origins: str, methods: str) -> CorsRules | None:
        """Return the rules of both settings, ``None`` when no origin is allowed.

        Args:
            origins: ``*``, or regular expressions between commas.
            methods: HTTP methods between commas; empty for GET, POST and HEAD.

        Raises:
            ConfigError: an origin is not a regular expression.
        """
        if not origins.strip():
            return None
        given = [origin for part in origins.split(",") if (origin := part.strip())]
        try:
            patterns = () if ANY in given else tuple(BoundedPattern(origin, ignore_case=True) for origin in given)
        except PatternSyntaxError as error:
            reason = f"an origin is * or a regular expression: {error}"
            raise ConfigError.invalid(ORIGIN_SETTING, origins, reason) from error
        return cls(patterns, methods.strip() or DEFAULT_METHODS)

    def allow(self, origins: str) -> bool:
        """Return whether one of the origins, between blanks, may ask."""
        if not self.origins:
            return True
        if len(origins) > LONGEST_ORIGINS:
            return False
        try:
            return any(
                pattern.fullmatch(origin, _MATCH_SECONDS) for origin in origins.split() for pattern in self.origins
            )
        except RunawayPatternError as error:
            log.warning("An expression of %s is too costly, the request is not allowed: %s", ORIGIN_SETTING, error)
            return False

    def headers_for(self, method: str, headers: Headers) -> Mapping[str, str]:
        """Return the headers for the response to a request."""
        origin = headers.get("origin")
        if origin is None or not self.allow(origin):
            return {}
        if method != "OPTIONS" or "access-control-request-method" not in headers:
            return {"Access-Control-Allow-Origin": origin}
        return {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Methods": self.methods,
            "Access-Control-Allow-Headers": "Content-Type",
            "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
        }


class CrossOrigin:
    """ASGI middleware that adds the CORS headers."""

    def __init__(self, app: ASGIApp, rules: CorsRules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        added = self._rules.headers_for(scope["method"], Headers(scope=scope))

        async def telling(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.append("Vary", "Origin")
                headers.update(added)
            await send(message)

        await self._app(scope, receive, telling)
