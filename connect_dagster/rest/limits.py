"""Limits on the clients of the REST API: time, connections, bytes, threads.

They are constants, as most of Jetty's are in Java's worker: its 200 threads, and its idle timeout of 90 seconds, which
is the request timeout (Java: ``RestServer.createConnector``).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

MEGABYTE = 1 << 20
VALUE_BYTES = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one server.

    Attributes:
        connections: at once; one more closes the one that has waited longest for its client.
        idle_seconds: without a request, from the start of the connection or from the last response; also to read a
            response, and to close a connection.
        head_seconds: from the first byte of a request to the end of its head; also for a TLS handshake.
        body_seconds: from the end of the head to the end of the body.
        response_seconds: from the end of the body to the response; more than any route may take.
        remainder_seconds: for the rest of a body that got its response early, so that the client can read it.
        body_bytes: of one body.
        body_values: JSON values of one body. More take seconds in which Python's parser lets no other thread run.
        bodies_bytes: of all bodies that are held at once, with 200 for each JSON value, which is a Python object; as
            much again for requests among workers, which need no user.
        threads: for requests at once; a request that has timed out keeps its thread until the herder returns.
        reserved_threads: more of them, for each of ``GET /`` and ``GET /health``.
    """

    connections: int = 1_000
    idle_seconds: float = 90.0
    head_seconds: float = 30.0
    body_seconds: float = 30.0
    response_seconds: float = 120.0
    remainder_seconds: float = 2.0
    body_bytes: int = 32 * MEGABYTE
    body_values: int = 500_000
    bodies_bytes: int = 128 * MEGABYTE
    threads: int = 200
    reserved_threads: int = 50


LIMITS = Limits()


class Quota:
    """An amount that requests share, such as threads; safe to use from many threads.

    Args:
        amount: how much there is.
    """

    def __init__(self, amount: int) -> None:
        self._left = amount
        self._lock = threading.Lock()

    def take(self, amount: int = 1) -> bool:
        """Take a part, if there is as much left."""
        with self._lock:
            if amount > self._left:
                return False
            self._left -= amount
            return True

    def give_back(self, amount: int = 1) -> None:
        """Return a part that was taken."""
        with self._lock:
            self._left += amount


class Share:
    """A request's part of a quota: it grows, and is given back as a whole."""

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._size = 0

    def grow(self, amount: int) -> bool:
        """Take more, if there is as much left."""
        taken = self._quota.take(amount)
        self._size += amount if taken else 0
        return taken

    def give_back(self) -> None:
        """Return all of it."""
        self._quota.give_back(self._size)
        self._size = 0
