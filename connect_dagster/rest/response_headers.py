"""``response.http.headers.config``: headers on every response (Java: Jetty's ``HeaderFilter``, KIP-577)."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from connect_dagster.errors import ConfigError

SETTING = "response.http.headers.config"
BLANK = re.compile(r"\s")


def _plain(value: str) -> str:
    return value


def _date(milliseconds: str) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(milliseconds=int(milliseconds)), usegmt=True)


_Write = Callable[[MutableHeaders, str, str], None]
_ACTIONS: Mapping[str, tuple[_Write, Callable[[str], str]]] = {
    "set": (MutableHeaders.__setitem__, _plain),
    "add": (MutableHeaders.append, _plain),
    "setDate": (MutableHeaders.__setitem__, _date),
    "addDate": (MutableHeaders.append, _date),
}
_BY_LOWER_NAME = {name.lower(): action for name, action in _ACTIONS.items()}


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """One header to add to responses, or to set in them.

    Attributes:
        action: set, add, setDate or addDate, in any case; a date is given as milliseconds from now.
        name: the header's name.
        value: the header's value.
    """

    action: str
    name: str
    value: str

    @classmethod
    def parse(cls, rule: str) -> HeaderRule:
        """Read ``action name:value``. Raises ConfigError with Kafka's text."""
        action, _, header = (part.strip() for part in re.sub(r"\s+", " ", rule.strip(), count=1).partition(" "))
        if not header:
            raise _wrong(f"Invalid format of header config '{rule}'. Expected: '[action] [header name]:[header value]'")
        if action.lower() not in _BY_LOWER_NAME:
            raise _wrong(f"Invalid header config action: '{action}'. Expected one of [{', '.join(_ACTIONS)}]")
        # Java's split drops what is empty at the end.
        parts = header.rstrip(":").split(":")
        if len(parts) != 2:
            expected = "Expected: '[header name]:[header value]'"
            raise _wrong(f"Invalid format of header name and header value pair '{header}'. {expected}")
        name, value = (part.strip() for part in parts)
        if not name or BLANK.search(name):
            raise _wrong(f"Invalid header name '{name}'. The '[header name]' cannot contain whitespace")
        if action.lower().endswith("date") and not re.fullmatch(r"-?\d{1,15}", value):
            raise _wrong(f"Invalid header config '{rule}'. {action} expects milliseconds from now")
        return cls(action, name, value)

    def apply(self, headers: MutableHeaders) -> None:
        """Change the headers of a response."""
        write, text = _BY_LOWER_NAME[self.action.lower()]
        write(headers, self.name, text(self.value))


def parse_rules(setting: str) -> tuple[HeaderRule, ...]:
    """Rules between commas; one that holds a comma stands in double quotes. Raises ConfigError."""
    if not setting.strip():
        return ()
    (rules,) = csv.reader([setting], skipinitialspace=True)
    return tuple(map(HeaderRule.parse, rules))


def _wrong(text: str) -> ConfigError:
    return ConfigError(text, name=SETTING)


class ResponseHeaders:
    """ASGI middleware that applies rules to every response."""

    def __init__(self, app: ASGIApp, rules: Sequence[HeaderRule]) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def changing(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for rule in self._rules:
                    rule.apply(headers)
            await send(message)

        await self._app(scope, receive, changing)
