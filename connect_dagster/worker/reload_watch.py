"""Watches the values of config providers that connectors and tasks were started with, to see which are outdated.

Java: ``WorkerConfigTransformer.scheduleReload``, which restarts the connector alone when the TTL of a value ends. Here
tasks with other values are outdated too, and values of providers that may be polled, such as files, are looked up again
in an interval. This module looks; the herder restarts what is outdated.

A value counts as changed when two looks in a row found the same: a file may be read while it is being written. A
value that cannot be looked up for a time is not a change: the connector and its tasks go on with those that they have.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from connect_dagster.errors import ConnectError
from connect_dagster.isolation.config_transformer import ConfigTransformer, Transformed
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import Item, Work, as_work

log = logging.getLogger(__name__)

Properties = Mapping[str, str]
Digests = Mapping[str, bytes]

_ACTION = "config.action.reload"
# Some providers have a TTL of 0 for values that do not expire: without a pause they would be asked all the time.
_LEAST_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class _Watched:
    """A connector or task, from one start to the next.

    Attributes:
        configs: as they were written: of a task, the connector's and its own.
        polled: placeholders whose values may be looked up again at any time.
        started_with: digests of the values by placeholder; empty when a provider failed.
        expires: when the first of its values expires, by the clock.
        found: digests of other values that the look before found.
        outdated: whether it is to be started again.
        failing: why its values could not be looked up the last time.
    """

    configs: Sequence[Properties]
    polled: frozenset[str]
    started_with: Digests
    expires: float | None
    found: Digests = field(default_factory=dict)
    outdated: bool = False
    failing: str | None = None


class ReloadWatch:
    """Watch connectors and tasks; safe to use from any thread, of which one calls :meth:`look`.

    Args:
        transformer: of the worker.
        interval: seconds between two looks at polled values; 0 for none.
        clock: seconds of a monotonic clock.
    """

    def __init__(
        self, transformer: ConfigTransformer, interval: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._transformer = transformer
        self._interval = interval
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._next_look = clock() + interval
        self._watched: dict[Item, _Watched] = {}
        self._lock = threading.Lock()

    def started(self, item: Item, configs: Sequence[Properties], transformed: Sequence[Transformed[str]]) -> None:
        """Watch a connector or task that starts, instead of what was watched under its name.

        Args:
            item: the connector's name, or the task.
            configs: as they were written: the connector's, and for a task also its own.
            transformed: these with values, up to the first whose provider failed.
        """
        action = (transformed[0].config if transformed else configs[0]).get(_ACTION, "").strip()
        polled = self._transformer.polled_placeholders(configs)
        ttl = min((one.ttl_ms for one in transformed if one.ttl_ms is not None), default=None)
        watched = _Watched(configs, polled, self._digests(_resolved(transformed)), self._expiry(ttl))
        with self._lock:
            self._watched.pop(item, None)
            if action != "none" and (polled or ttl is not None):
                self._watched[item] = watched
        if ttl is not None and action != "none" and not isinstance(item, TaskId):
            log.info("Scheduling a restart of connector %s in %d ms", item, ttl)

    def stopped(self, items: Iterable[Item]) -> None:
        """Watch these no longer."""
        with self._lock:
            for item in items:
                self._watched.pop(item, None)

    def outdated(self) -> Work:
        """Return the connectors and tasks that are to be started again, since the last look."""
        with self._lock:
            return as_work(item for item, watched in self._watched.items() if watched.outdated)

    @property
    def seconds_to_look(self) -> float:
        """Return the seconds until the next look is due, at most one: values may be watched meanwhile that expire."""
        with self._lock:
            due = [one.expires for one in self._watched.values() if one.expires is not None]
        if self._interval:
            due.append(self._next_look)
        return max(0.0, min(1.0, min(due, default=float("inf")) - self._clock()))

    def look(self) -> bool:
        """Look for values that have expired or changed, as far as it is time; return whether anything is outdated.

        Asks config providers, which may take long.
        """
        with self._lock:
            watched = dict(self._watched)
        now = self._clock()
        for item, one in watched.items():
            if one.expires is not None and one.expires <= now:
                self._expired(item, one)
        if self._interval and now >= self._next_look:
            self._next_look = now + self._interval
            self._look_at_polled({item: one for item, one in watched.items() if one.polled})
        return bool(self.outdated())

    def _expired(self, item: Item, watched: _Watched) -> None:
        if not isinstance(item, TaskId):  # as in Java, whatever the values are now
            watched.expires, watched.outdated = None, True
            return
        try:
            transformed = [self._transformer.resolve(config) for config in watched.configs]
        except ConnectError as error:
            self._not_found(item, watched, str(error))
            watched.expires = self._clock() + (self._interval or _LEAST_SECONDS)
            return
        ttl = min((one.ttl_ms for one in transformed if one.ttl_ms is not None), default=None)
        watched.expires = self._expiry(ttl)
        watched.outdated |= bool(self._changed(watched, _resolved(transformed)))

    def _look_at_polled(self, watched: Mapping[Item, _Watched]) -> None:
        looked_up = self._transformer.look_up({text for one in watched.values() for text in one.polled})
        for item, one in watched.items():
            errors = [looked_up.errors[text] for text in sorted(one.polled) if text in looked_up.errors]
            if errors:
                self._not_found(item, one, errors[0])
                continue
            one.failing = None
            now = {text: looked_up.values[text] for text in one.polled if text in looked_up.values}
            changed = self._changed(one, now)
            if changed and changed == one.found and not one.outdated:
                log.info("%s was started with other values of %s", item, ", ".join(sorted(changed)))
                one.outdated = True
            one.found = changed

    def _changed(self, watched: _Watched, values: Mapping[str, str]) -> Digests:
        """Return the values that are not those of the start; one that is missing now is not a change."""
        now = self._digests(values)
        return {text: digest for text, digest in now.items() if digest != watched.started_with.get(text)}

    def _not_found(self, item: Item, watched: _Watched, why: str) -> None:
        watched.found = {}
        if why != watched.failing:
            log.warning("Cannot look for new values of %s, which goes on with those that it has: %s", item, why)
        watched.failing = why

    def _expiry(self, ttl_ms: int | None) -> float | None:
        return None if ttl_ms is None else self._clock() + max(ttl_ms / 1000, _LEAST_SECONDS)

    def _digests(self, values: Mapping[str, str]) -> Digests:
        return {text: hmac.digest(self._key, value.encode(), "sha256") for text, value in values.items()}


def _resolved(transformed: Collection[Transformed[str]]) -> dict[str, str]:
    return {text: value for one in transformed for text, value in one.resolved.items()}
