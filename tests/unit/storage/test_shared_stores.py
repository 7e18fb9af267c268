"""Stores that are opened once for all of their users, and closed with the last."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.storage.shared_stores import SharedStores

SECONDS = 30.0


class Store:
    """A store that notes whether it runs."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.runs = True

    def stop(self) -> None:
        assert self.runs, "a store is stopped once"
        self.runs = False


class Opening:
    """Opens stores; fails as often as it is told to."""

    def __init__(self) -> None:
        self.opened: list[Store] = []
        self.failures = 0
        self.may_open = threading.Event()
        self.may_open.set()
        self.begun = threading.Semaphore(0)

    def __call__(self, key: str) -> Store:
        self.begun.release()
        assert self.may_open.wait(SECONDS)
        if self.failures:
            self.failures -= 1
            raise ConnectError(f"no {key}")
        self.opened.append(Store(key))
        return self.opened[-1]


@pytest.fixture
def opening() -> Opening:
    return Opening()


def test_users_of_a_key_share_a_store_until_the_last_has_gone(opening: Opening) -> None:
    stores = SharedStores(opening)
    (first, release), (second, other), (third, _) = (stores.acquire(key) for key in "aab")
    assert first is second
    assert third.key == "b"
    release()
    release()
    assert first.runs, "who ends its use twice ends no other one"
    other()
    assert (first.runs, third.runs) == (False, True)
    again, _ = stores.acquire("a")
    assert again is not first
    assert [one.key for one in opening.opened] == ["a", "b", "a"]


def test_users_that_come_at_once_wait_for_the_first(opening: Opening) -> None:
    stores = SharedStores(opening)
    opening.may_open.clear()
    with ThreadPoolExecutor(8) as pool:
        users = [pool.submit(stores.acquire, "a") for _ in range(8)]
        assert opening.begun.acquire(timeout=SECONDS)
        assert not any(one.done() for one in users)
        opening.may_open.set()
        found = [one.result(SECONDS) for one in users]
    assert len(opening.opened) == 1
    for _, release in found:
        assert opening.opened[0].runs
        release()
    assert not opening.opened[0].runs


def test_a_key_that_opens_slowly_delays_no_other(opening: Opening) -> None:
    stores = SharedStores(opening)
    ready, _ = stores.acquire("b")
    opening.may_open.clear()
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(stores.acquire, "a")
        assert opening.begun.acquire(timeout=SECONDS)
        assert stores.acquire("b")[0] is ready
        opening.may_open.set()
        slow.result(SECONDS)


def test_a_failure_is_of_the_one_user_and_the_next_tries_again(opening: Opening) -> None:
    stores = SharedStores(opening)
    opening.failures = 1
    opening.may_open.clear()
    with ThreadPoolExecutor(3) as pool:
        users = [pool.submit(stores.acquire, "a") for _ in range(3)]
        assert opening.begun.acquire(timeout=SECONDS)
        opening.may_open.set()
        failed = [one for one in users if one.exception(SECONDS)]
        found = [one.result(SECONDS) for one in users if one not in failed]
    assert len(failed) == 1
    assert {id(store) for store, _ in found} == {id(opening.opened[0])}
    for _, release in found:
        release()
    assert not opening.opened[0].runs


def test_a_store_that_nobody_could_open_is_forgotten(opening: Opening) -> None:
    stores = SharedStores(opening)
    opening.failures = 1
    with pytest.raises(ConnectError, match="no a"):
        stores.acquire("a")
    store, release = stores.acquire("a")
    release()
    assert not store.runs
