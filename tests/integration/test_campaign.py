"""A campaign of faults as a command: it plays, prints its table, and continues after it was stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

SEED = "7"
SECONDS = 500.0


def campaign(folder: Path, faults: int) -> "subprocess.Popen[str]":
    choice = ["--flows", "file", "--kinds", "paused", "--kinds", "restarted", "--workers", "1", "--no-mixed"]
    command = [sys.executable, "-m", "tests.campaign", "--seed", SEED, "--faults", str(faults), *choice]
    return subprocess.Popen([*command, "--folder", str(folder)], stdout=subprocess.PIPE, text=True)


def test_a_campaign_that_was_stopped_continues(tmp_path: Path) -> None:
    journal = tmp_path / f"seed-{SEED}" / "outcomes.jsonl"
    with campaign(tmp_path, 50) as first:
        deadline = time.monotonic() + SECONDS
        while not journal.exists() and first.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        os.kill(first.pid, signal.SIGTERM)
        told, _ = first.communicate(timeout=120)
    assert first.returncode == 130, told
    assert "stopped; the same seed continues here" in told
    played = len(journal.read_text().splitlines())

    with campaign(tmp_path, played + 1) as second:
        told, _ = second.communicate(timeout=SECONDS)
    assert second.returncode == 0, told
    outcomes = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [one["number"] for one in outcomes] == list(range(played + 1))
    assert {one["kind"] for one in outcomes} <= {"paused", "restarted"}
    assert {(one["lost"], one["stuck"], one["orphans"], one["note"]) for one in outcomes} == {(0, 0, 0, "")}
    assert f"| all | {played + 1} |" in told
    assert not list(journal.parent.glob("stage-*"))
