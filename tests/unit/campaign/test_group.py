"""The states of a group, its orphans and its temporary files."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.campaign.group import all_running, failed, orphans, temporary_entries

NAMES, WORKERS = ["source"], ["127.0.0.1:1"]


def part(state: str = "RUNNING", worker: str = "127.0.0.1:1") -> dict[str, Any]:
    return {"state": state, "worker_id": worker}


def test_all_run_when_connectors_and_tasks_do_on_workers_that_are_there() -> None:
    assert all_running({"source": [part(), part()]}, NAMES, WORKERS)
    assert not all_running({"source": [part()]}, NAMES, WORKERS)
    assert not all_running({"source": [part(), part("UNASSIGNED")]}, NAMES, WORKERS)
    assert not all_running({"source": [part(), part(worker="127.0.0.1:2")]}, NAMES, WORKERS)
    assert not all_running({}, NAMES, WORKERS)


def test_what_failed_is_counted_by_connector() -> None:
    assert failed({"a": [part(), part("FAILED"), part("FAILED")], "b": [part(), part()]}) == {"a": 2}


def test_a_process_with_the_mark_that_nobody_has_is_an_orphan() -> None:
    mark = f"CAMPAIGN_TEST={os.getpid()}"
    name, _, value = mark.partition("=")
    program = [sys.executable, "-c", "input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, env={**os.environ, name: value}) as left:
        assert orphans(mark, []) == [left.pid]
        assert orphans(mark, [left.pid]) == orphans(mark, [os.getpid()]) == []
        left.communicate(b"\n")


def test_temporary_entries_of_folders(tmp_path: Path) -> None:
    (tmp_path / "connect-a").mkdir()
    (tmp_path / "other").touch()
    assert temporary_entries(tmp_path, "connect-*") == [tmp_path / "connect-a"]
    assert temporary_entries(tmp_path / "missing") == []
