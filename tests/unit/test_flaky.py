"""The marker `flaky` in runs of pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAILS_FIRST = """
import pytest
from pathlib import Path

@pytest.fixture(scope="module")
def runs():
    with Path("runs").open("a") as file:
        file.write("x")
    return len(Path("runs").read_text())
"""
MARK = '@pytest.mark.flaky(reason="the moon", issue="#7")'


def run(folder: Path, test: str, *processes: str) -> tuple[int, str]:
    (folder / "test_it.py").write_text(FAILS_FIRST + test)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-m", "pytest", "-p", "tests.flaky", "-c", "/dev/null", "--rootdir", ".", *processes]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "processes",
    [pytest.param([], id="here"), pytest.param(["-n", "1"], id="in a process of xdist", marks=pytest.mark.nightly)],
)
def test_a_marked_test_runs_twice_with_new_fixtures_and_is_shown(tmp_path: Path, processes: list[str]) -> None:
    code, said = run(tmp_path, f"{MARK}\ndef test_a(runs):\n    assert runs == 2\n", *processes)
    assert code == 0, said
    assert "flaky tests that ran a second time" in said
    assert "test_it.py::test_a: the moon (#7)" in said
    assert "assert 1 == 2" in said
    assert "1 passed" in said


@pytest.mark.nightly
def test_a_marked_test_that_fails_twice_has_failed(tmp_path: Path) -> None:
    code, said = run(tmp_path, f"{MARK}\ndef test_a(runs):\n    assert runs > 2\n")
    assert code == 1, said
    assert (tmp_path / "runs").read_text() == "xx"


def test_no_other_test_runs_twice(tmp_path: Path) -> None:
    code, said = run(tmp_path, "def test_a(runs):\n    assert runs == 2\n")
    assert code == 1, said
    assert (tmp_path / "runs").read_text() == "x"


def test_more_than_three_marked_tests_are_refused(tmp_path: Path) -> None:
    code, said = run(tmp_path, "".join(f"{MARK}\ndef test_{n}():\n    pass\n" for n in range(4)))
    assert code != 0
    assert "At most 3 tests may be marked flaky" in said


def test_a_marker_without_reason_is_refused(tmp_path: Path) -> None:
    code, said = run(tmp_path, '@pytest.mark.flaky(issue="#7")\ndef test_a():\n    pass\n')
    assert code != 0
    assert "write @pytest.mark.flaky(reason=..., issue=...)" in said
