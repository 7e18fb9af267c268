"""Tasks in memory."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def cheap_collections() -> Iterator[None]:
    """A task collects garbage after each batch: leave what the libraries have loaded out of it, as a worker does."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
