"""Stores that several users share: the first opens one, the last closes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Stoppable(Protocol):
    """A store that was started."""

    def stop(self) -> None:
        """Stop reading and writing."""


Store = TypeVar("Store", bound=Stoppable)


@dataclass(slots=True)
class _Entry(Generic[Store]):
    """A store, ``None`` until it was opened; who opens it holds ``opening``."""

    users: int = 0
    store: Store | None = None
    opening: threading.Lock = field(default_factory=threading.Lock)


class SharedStores(Generic[Key, Store]):
    """Stores by their key, as long as they are in use; any thread may call it.

    Args:
        open_store: opens and starts the store of a key.
    """

    def __init__(self, open_store: Callable[[Key], Store]) -> None:
        self._open = open_store
        self._lock = threading.Lock()
        self._entries: dict[Key, _Entry[Store]] = {}

    def acquire(self, key: Key) -> tuple[Store, Callable[[], None]]:
        """Return the store of a key, and the function that ends its use, of which the first call counts.

        Waits while another user opens the store; where that failed, opens it once more, and raises what that raises.
        """
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            entry.users += 1
        try:
            with entry.opening:
                if entry.store is None:
                    entry.store = self._open(key)
                store = entry.store
        except BaseException:
            self._release(key, entry)
            raise
        used = threading.Lock()
        return store, lambda: self._release(key, entry) if used.acquire(blocking=False) else None

    def _release(self, key: Key, entry: _Entry[Store]) -> None:
        with self._lock:
            entry.users -= 1
            if entry.users:
                return
            del self._entries[key]  # who comes now opens another, and does not wait for the end of this one
        if entry.store is not None:
            entry.store.stop()
