"""The API on a herder of dictionaries."""

from pathlib import Path

import pytest

from connect_dagster.rest.app import create_app
from connect_dagster.rest.basic_auth import ENTRY, EXTENSION
from tests.unit.rest.asking import Asking
from tests.unit.rest.memory_herder import MemoryHerder

LOGIN_MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
FILE_SOURCE = {"connector.class": "FileStreamSource", "file": "/tmp/test.txt", "topic": "connect-test"}


@pytest.fixture
def herder() -> MemoryHerder:
    herder = MemoryHerder()
    herder.put_connector("c", {**FILE_SOURCE, "name": "c"}, allow_replace=False)
    return herder


@pytest.fixture
def ask(herder: MemoryHerder) -> Asking:
    return Asking(create_app(herder))


@pytest.fixture
def basic_auth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Properties of a worker that asks for a password, and all they need: there is a user `me` with `secret`."""
    users, login = tmp_path / "users.properties", tmp_path / "login.conf"
    users.write_text("me=secret\n한글=비밀\n")
    login.write_text(f'{ENTRY} {{\n  {LOGIN_MODULE} required\n  file="{users}";\n}};\n')
    monkeypatch.setenv("KAFKA_OPTS", f"-Xmx1g -Djava.security.auth.login.config={login}")
    return {"rest.extension.classes": EXTENSION}
