"""Jars from a local repository: what is verified, what is remembered, what is refused."""

import hashlib
import logging
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from connect_dagster.embedded import jars
from connect_dagster.embedded.errors import JarCorrupt, JarUnavailable
from connect_dagster.embedded.jar_lock import JAR_SETS, LockedJar, locked_jars, write_lock

CONTENT = b"not really a jar"
COORDINATE = "org.example:thing_2.13:1.0"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    file = tmp_path / "jars.lock"
    write_lock({"things": (LockedJar(COORDINATE, hashlib.sha256(CONTENT).hexdigest()),)}, file)
    return file


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "m2" / "org" / "example" / "thing_2.13" / "1.0" / "thing_2.13-1.0.jar"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    return path


def test_a_jar_in_the_repository_is_used_as_it_is(tmp_path: Path, lock: Path, jar: Path) -> None:
    assert jars.resolve("things", repository=tmp_path / "m2", lock_file=lock) == [jar]


def test_another_checksum_is_refused(tmp_path: Path, lock: Path, jar: Path) -> None:
    jar.write_bytes(b"something else")
    with pytest.raises(JarCorrupt) as error:
        jars.resolve("things", repository=tmp_path / "m2", lock_file=lock)
    expected, actual = (hashlib.sha256(data).hexdigest() for data in (CONTENT, b"something else"))
    for part in (COORDINATE, expected, actual, f"delete {jar}"):
        assert part in str(error.value)


def test_a_verified_jar_that_changes_is_verified_again(tmp_path: Path, lock: Path, jar: Path) -> None:
    jars.resolve("things", repository=tmp_path / "m2", lock_file=lock)
    jar.write_bytes(CONTENT[::-1])
    with pytest.raises(JarCorrupt):
        jars.resolve("things", repository=tmp_path / "m2", lock_file=lock)


def test_a_verified_jar_is_not_read_again(tmp_path: Path, lock: Path, jar: Path) -> None:
    jars.resolve("things", repository=tmp_path / "m2", lock_file=lock)
    jar.chmod(0)
    jar.unlink()
    jar.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_bytes(CONTENT)
    assert jars.resolve("things", repository=tmp_path / "m2", lock_file=lock) == [jar]


def test_a_lost_memory_costs_only_the_hashing(tmp_path: Path, lock: Path, jar: Path) -> None:
    jars.resolve("things", repository=tmp_path / "m2", lock_file=lock)
    memory = tmp_path / "cache" / "connect-dagster" / "verified-jars.json"
    memory.write_text("{ cut off")
    assert jars.resolve("things", repository=tmp_path / "m2", lock_file=lock) == [jar]


def test_an_unknown_set_names_the_known_ones(lock: Path) -> None:
    with pytest.raises(KeyError, match="no jar set `other` in the lock; it has things"):
        jars.resolve("other", lock_file=lock)


def test_a_missing_jar_is_fetched_and_logged(
    tmp_path: Path, lock: Path, jar: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, jars.__name__)
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "m2"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        settings = tmp_path / "jgo.conf"
        settings.write_text(f"[repositories]\nhere = http://127.0.0.1:{server.server_port}\n")
        monkeypatch.setenv("JGO_CONFIG_FILE", str(settings))
        other = tmp_path / "other"
        try:
            (fetched,) = jars.resolve("things", repository=other, lock_file=lock)
        finally:
            server.shutdown()
    assert (fetched.read_bytes(), fetched.name) == (CONTENT, jar.name)
    assert [record.message for record in caplog.records if record.name == jars.__name__] == [
        f"Fetching 1 of the 1 jars of things into {other}; this is needed once",
        f"Fetched jar 1 of 1: {COORDINATE}",
    ]


def test_a_jar_that_cannot_be_had_is_named(tmp_path: Path, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "jgo.conf"
    settings.write_text("[repositories]\nnowhere = http://127.0.0.1:9/repository\n")
    monkeypatch.setenv("JGO_CONFIG_FILE", str(settings))
    with pytest.raises(JarUnavailable, match=f"Cannot get the jar {COORDINATE}"):
        jars.resolve("things", repository=tmp_path / "empty", lock_file=lock)
    assert list((tmp_path / "empty").iterdir()) == []


def test_the_shipped_lock_holds_every_set_with_its_roots() -> None:
    for name, jar_set in JAR_SETS.items():
        assert set(jar_set.roots) <= {jar.coordinate for jar in locked_jars(name)}
    assert {jar.coordinate for jar in locked_jars("spark-kafka")} == set(JAR_SETS["spark-kafka"].roots)
