"""Parsers of what others write: their seeds, and a fuzzer that follows the branches that inputs reach."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzzing import targets
from tests.fuzzing.targets import LARGE, TARGETS, Bounded, Target, TooSlow

ROOT = Path(__file__).parents[2]
SECONDS = 8


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_valid(name: str) -> None:
    for seed in TARGETS[name].seeds:
        TARGETS[name].parse(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_left_of_a_seed_is_read_or_refused_in_time(name: str) -> None:
    run = Bounded(TARGETS[name])
    for seed in TARGETS[name].seeds:
        for end in range(0, len(seed), 1 + len(seed) // 200):
            run(seed[:end])
            run(seed[end:] + b"\xff\xff\xff\x7f" + seed[:end])


def test_a_parser_that_is_slow_for_large_inputs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "SECONDS", 0.02)
    monkeypatch.setattr(targets, "SECONDS_PER_BYTE", 0.0)
    run = Bounded(Target(lambda data: sum(1 for _ in range(60 * len(data))), (), []))
    for _ in range(19):
        run(b"a")
    with pytest.raises(TooSlow, match=f"{LARGE} bytes took "):
        run(b"a")


@pytest.mark.nightly
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris has no wheel for this platform")
@pytest.mark.parametrize("name", TARGETS)
def test_the_fuzzer_finds_nothing(name: str) -> None:
    command = [sys.executable, "-m", "tests.fuzzing", name, str(SECONDS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS + 120)
    told = done.stdout + done.stderr
    assert done.returncode == 0, told[-6000:]
    assert "Done " in told, told[-6000:]
