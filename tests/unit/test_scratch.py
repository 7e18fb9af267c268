"""Folders for temporary files: locked while their process lives, removed by the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from connect_dagster import scratch
from connect_dagster.scratch import memory_folder, process_locks, process_scratch, remove_abandoned, scratch_folder

PATTERN = "connect-dagster-scratch-*"
HOLDER = """
import sys, tempfile
from connect_dagster.scratch import memory_folder, process_locks, process_scratch
import subprocess
with process_scratch():
    tempfile.mkdtemp(prefix="connect-dagster-spool-")
    child = sys.argv[1:] and subprocess.Popen(sys.argv[1:], pass_fds=process_locks(), stdin=sys.stdin)
    print(child.pid if child else 0, flush=True)
    sys.stdin.read() if not child else child.wait()
"""


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, also those in memory."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(scratch, "_MEMORY", tmp_path)
    return tmp_path


@contextmanager
def process(*child: str) -> Iterator[subprocess.Popen[str]]:
    """Run a process with folders, and a child process that inherits their locks; it is killed at the end."""
    command = [sys.executable, "-c", HOLDER, *child]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def read_pid(running: subprocess.Popen[str]) -> int:
    assert running.stdout is not None
    return int(running.stdout.readline())


def test_a_folder_is_for_this_user_alone_and_goes_at_the_end(root: Path) -> None:
    with scratch_folder() as folder:
        (folder / "file").write_text("x")
        assert folder.parent == root
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(root.iterdir()) == []


def test_one_folder_does_not_remove_another_that_is_in_use() -> None:
    with scratch_folder() as one, scratch_folder() as other:
        remove_abandoned(one.parent)
        assert one.is_dir()
        assert other.is_dir()


def test_r14_the_folders_of_a_killed_process_are_removed(root: Path) -> None:
    """At ce718d3 spools, keys and checkpoints of a worker that was killed stayed until somebody removed them."""
    with process() as running:
        read_pid(running)
        before = list(root.glob(f"{PATTERN}/connect-dagster-spool-*"))
        remove_abandoned(root)
        assert list(root.glob(f"{PATTERN}/connect-dagster-spool-*")) == before
        assert len(before) == 1
    assert running.returncode == -signal.SIGKILL
    remove_abandoned(root)
    assert list(root.glob(PATTERN)) == []


def test_a_folder_is_in_use_while_a_child_process_lives(root: Path) -> None:
    with process("sleep", "600") as running:
        child = read_pid(running)
    try:
        remove_abandoned(root)
        assert list(root.glob(PATTERN))
    finally:
        os.kill(child, signal.SIGKILL)
    while list(root.glob(PATTERN)):  # until the system has ended the child
        remove_abandoned(root)


def test_links_and_folders_of_other_names_are_left_alone(root: Path) -> None:
    other = root / "connect-dagster-spool-x"
    other.mkdir()
    (root / "connect-dagster-scratch-link").symlink_to(other)
    remove_abandoned(root)
    assert sorted(entry.name for entry in root.iterdir()) == ["connect-dagster-scratch-link", other.name]


def test_folders_of_another_user_are_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = root / "connect-dagster-scratch-theirs"
    theirs.mkdir()
    monkeypatch.setattr("os.geteuid", lambda: theirs.stat().st_uid + 1)
    remove_abandoned(root)
    assert theirs.is_dir()


def test_all_temporary_files_of_a_process_are_in_its_folders(root: Path) -> None:
    with process_scratch():
        assert len(process_locks()) == 2
        assert memory_folder().parent == root
        assert Path(tempfile.mkdtemp()).parent.parent == root
        assert os.environ["TMPDIR"] == tempfile.gettempdir() != str(root)
    assert (process_locks(), memory_folder(), tempfile.gettempdir()) == ((), root, str(root))
    assert list(root.iterdir()) == []


def test_without_a_folder_in_memory_files_are_on_the_disk(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_MEMORY", root / "none")
    assert memory_folder() == root


def test_a_process_begins_with_the_removal_of_what_others_left(root: Path) -> None:
    left = root / "connect-dagster-scratch-left"
    left.mkdir()
    with process_scratch():
        while left.exists():
            os.sched_yield()
