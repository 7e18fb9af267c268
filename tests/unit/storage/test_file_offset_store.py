"""The offsets file: what Java wrote stays, nothing is lost, one worker at a time."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.errors import ConnectError, DataError
from connect_dagster.java import hash_map_file as java_map
from connect_dagster.storage.file_offset_store import FileOffsetStore

PARTITION = {"filename": "/tmp/test.txt"}
HOLDER = """
import sys, time
from connect_dagster.storage.file_offset_store import FileOffsetStore
FileOffsetStore(sys.argv[1]).start()
print("started", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "connect.offsets"


@pytest.fixture
def store(path: Path) -> Iterator[FileOffsetStore]:
    store = FileOffsetStore(path)
    store.start()
    yield store
    store.stop()


def reopened(path: Path) -> FileOffsetStore:
    store = FileOffsetStore(path)
    store.start()
    store.stop()
    return store


def reopened_offset(path: Path, store: FileOffsetStore) -> dict[str, Any] | None:
    store.stop()
    return reopened(path).offset("c", PARTITION)


def test_offsets_survive_a_restart(path: Path, store: FileOffsetStore) -> None:
    store.save("c", [(PARTITION, {"position": 47})])
    store.stop()
    again = reopened(path)
    assert again.offset("c", PARTITION) == {"position": 47}
    assert again.offsets_of("c") == [(PARTITION, {"position": 47})]
    assert again.open("c", {}).offset(PARTITION) == {"position": 47}
    assert (again.offset("other", PARTITION), again.offsets_of("other")) == (None, [])


def test_s1_12_the_file_is_a_java_map_of_json(path: Path, store: FileOffsetStore) -> None:
    store.save("local-file-source", [(PARTITION, {"position": 47})])
    content = path.read_bytes()
    assert content.startswith(b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap")
    assert java_map.loads(content) == {b'["local-file-source",{"filename":"/tmp/test.txt"}]': b'{"position":47}'}


def test_nothing_is_written_without_a_change(path: Path, store: FileOffsetStore) -> None:
    store.save("c", [])
    assert not path.exists()
    store.save("c", [(PARTITION, {"position": 1})])
    inode = path.stat().st_ino
    store.save("c", [])
    assert path.stat().st_ino == inode


def test_a_save_with_an_offset_that_cannot_be_one_saves_nothing(path: Path, store: FileOffsetStore) -> None:
    """Failed: the offsets before it were there at once, and in the file with another connector's next save."""
    with pytest.raises(DataError, match="Offsets may only contain primitive types as values"):
        store.save("c", [(PARTITION, {"position": 1}), ({"n": 1}, {"list": [1]})])
    store.save("other", [(PARTITION, {"position": 2})])
    store.stop()
    again = reopened(path)
    assert (again.offsets_of("c"), again.offset("other", PARTITION)) == ([], {"position": 2})


def test_keys_that_java_wrote_are_found_by_value_and_kept(path: Path) -> None:
    javas = b'["c", {"b": 1, "a": "x"}]'
    foreign = b"not json"
    path.write_bytes(java_map.dumps({javas: b'{"n":1}', foreign: b"?"}))
    store = FileOffsetStore(path)
    store.start()
    assert store.offset("c", {"a": "x", "b": 1}) == {"n": 1}
    store.save("c", [({"a": "x", "b": 1}, {"n": 2})])
    store.stop()
    assert java_map.loads(path.read_bytes()) == {javas: b'{"n":2}', foreign: b"?"}


def test_forgotten_offsets_are_null_for_java(path: Path, store: FileOffsetStore) -> None:
    store.save("c", [(PARTITION, {"position": 1})])
    store.save("c", [(PARTITION, None)])
    assert (store.offset("c", PARTITION), store.offsets_of("c")) == (None, [])
    assert list(java_map.loads(path.read_bytes()).values()) == [None]


@pytest.mark.parametrize("content", [None, b""])
def test_a_missing_or_empty_file_has_no_offsets(path: Path, content: bytes | None) -> None:
    if content is not None:
        path.write_bytes(content)
    assert reopened(path).offsets_of("c") == []


@pytest.mark.parametrize("content", [b'{"a": 1}', java_map.dumps({b"k": b"v"})[:-3]])
def test_a_damaged_file_is_named_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(ConnectError) as raised:
        FileOffsetStore(path).start()
    assert str(raised.value).startswith(f"Cannot read offsets file {path}: not a serialised Java HashMap")
    assert path.read_bytes() == content
    path.unlink()
    reopened(path)  # the failed start did not keep its claim


def test_an_offset_that_is_no_object_is_an_error(path: Path) -> None:
    path.write_bytes(java_map.dumps({b'["c",{}]': b"7"}))
    with pytest.raises(DataError, match="is not a JSON object"):
        reopened(path).offset("c", {})


def test_s1_07b_a_second_worker_is_refused_and_the_file_unchanged(path: Path) -> None:
    path.write_bytes(java_map.dumps({b'["c",{}]': b"{}"}))
    before = path.read_bytes()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "started\n"
        with pytest.raises(ConnectError) as raised:
            FileOffsetStore(path).start()
        assert str(raised.value) == f"{path} is in use by another worker, process {holder.pid}"
        assert path.read_bytes() == before
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate(timeout=30)
    assert reopened(path).offset("c", {}) == {}  # the claim died with its process


def test_two_stores_of_one_process_do_not_share_a_file_also_through_a_link(path: Path, store: FileOffsetStore) -> None:
    link = path.with_name("link.offsets")
    link.symlink_to(path)
    with pytest.raises(ConnectError, match=f"in use by another worker, process {os.getpid()}$"):
        FileOffsetStore(link).start()


def test_a_save_keeps_link_and_mode(path: Path) -> None:
    path.write_bytes(b"")
    path.chmod(0o640)
    link = path.with_name("link.offsets")
    link.symlink_to(path)
    store = FileOffsetStore(link)
    store.start()
    store.save("c", [(PARTITION, {"position": 1})])
    store.stop()
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert reopened(path).offset("c", PARTITION) == {"position": 1}


def test_a_full_disk_is_named_leaves_the_file_and_the_offsets(path: Path, store: FileOffsetStore) -> None:
    store.save("c", [(PARTITION, {"position": 1})])
    large = {"filename": "x" * 10_000}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        with pytest.raises(ConnectError) as raised:
            store.save("c", [(large, {"position": 2})])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert str(raised.value) == f"Cannot save offsets file {path}: File too large"
    assert len(java_map.loads(path.read_bytes())) == 1
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["connect.offsets", "connect.offsets.lock"]
    assert store.offset("c", large) is None, "what is not in the file is in no later save either"
    store.save("d", [(PARTITION, {"position": 3})])
    assert len(java_map.loads(path.read_bytes())) == 2
    store.save("c", [(large, {"position": 2})])
    assert len(java_map.loads(path.read_bytes())) == 3


def test_r15_a_save_writes_to_no_link_of_others(path: Path, store: FileOffsetStore) -> None:
    """At ce718d3 a save wrote to the file that the link ``<file>.tmp`` led to."""
    victim = path.with_name("victim")
    victim.write_text("precious")
    path.with_name(f"{path.name}.tmp").symlink_to(victim)
    store.save("c", [(PARTITION, {"position": 1})])
    assert victim.read_text() == "precious"
    assert not path.is_symlink()
    assert reopened_offset(path, store) == {"position": 1}


def test_r15_a_draft_that_exists_is_not_written_to(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At ce718d3 whatever had the draft's name was opened and overwritten."""
    store = FileOffsetStore(path)
    store.start()
    monkeypatch.setattr("secrets.token_hex", lambda size: "known")
    victim = path.with_name("victim")
    path.with_name(f"{path.name}.known.tmp").symlink_to(victim)
    with pytest.raises(ConnectError, match="File exists"):
        store.save("c", [(PARTITION, {"position": 1})])
    assert not victim.exists()
    store.stop()


def test_r15_a_lock_that_is_a_link_is_refused(path: Path) -> None:
    """At ce718d3 the file that the link led to was emptied."""
    victim = path.with_name("victim")
    victim.write_text("precious")
    path.with_name(f"{path.name}.lock").symlink_to(victim)
    with pytest.raises(ConnectError, match=f"^Cannot lock {path}: {path}.lock: "):
        FileOffsetStore(path).start()
    assert victim.read_text() == "precious"


def test_a_draft_of_a_worker_that_was_killed_is_removed(path: Path) -> None:
    draft = path.with_name(f"{path.name}.0123456789abcdef.tmp")
    draft.write_bytes(b"half")
    reopened(path)
    assert not draft.exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "connect.offsets"
    with pytest.raises(ConnectError) as raised:
        FileOffsetStore(path).start()
    assert str(raised.value) == f"Cannot lock {path}: {path}.lock: No such file or directory"


def test_many_threads_write_and_save(path: Path, store: FileOffsetStore) -> None:
    def work(number: int) -> None:
        for position in range(20):
            store.save(f"c{number}", [(PARTITION, {"position": position})])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    store.stop()
    again = reopened(path)
    assert [again.offset(f"c{number}", PARTITION) for number in range(8)] == [{"position": 19}] * 8
