"""The API on a herder of dictionaries."""

import pytest

from connect_dagster.rest.app import create_app
from tests.unit.rest.asking import Asking
from tests.unit.rest.memory_herder import MemoryHerder

FILE_SOURCE = {"connector.class": "FileStreamSource", "file": "/tmp/test.txt", "topic": "connect-test"}


@pytest.fixture
def herder() -> MemoryHerder:
    herder = MemoryHerder()
    herder.put_connector("c", {**FILE_SOURCE, "name": "c"}, allow_replace=False)
    return herder


@pytest.fixture
def ask(herder: MemoryHerder) -> Asking:
    return Asking(create_app(herder))
