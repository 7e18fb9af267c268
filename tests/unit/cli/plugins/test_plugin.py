"""`connect-dagster plugin`: what it lists, and the projects it writes, checked as an author would check them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from connect_dagster.cli.main import main
from connect_dagster.isolation.plugins import Plugins
from tests.plugin_packages import SOURCE, write_jar, write_wheel

ROOT = Path(__file__).parents[4]
S3 = "io.confluent.connect.s3.source.S3SourceConnector"
CLASSES = {
    "source": "click_counts.plugin.ClickCountsConnector",
    "sink": "click_counts.plugin.ClickCountsConnector",
    "transform": "click_counts.plugin.ClickCounts",
}


def invoke(*words: str) -> Result:
    return CliRunner().invoke(main, ["plugin", *words])


@pytest.mark.parametrize("by_file", [False, True])
def test_s4_09_the_list_has_javas_plugins_apart(tmp_path: Path, by_file: bool) -> None:
    entry = {"web-clicks": "clicks:ClicksConnector"}
    wheel = write_wheel(tmp_path / "plugins", "clicks", "2.5", {"clicks.py": SOURCE.format(name="Clicks")}, entry)
    jar = write_jar(tmp_path / "plugins" / "s3" / "s3.jar", S3)
    (tmp_path / "worker.properties").write_text(f"plugin.path={tmp_path}/plugins\n")
    done = invoke(
        "list", *([f"{tmp_path}/worker.properties"] if by_file else ["--plugin-path", f"{tmp_path}/plugins, "])
    )
    assert done.exit_code == 0, done.output
    ours, _, javas = done.output.partition("\n\nJava plugins, which cannot run in this worker:\n")
    rows = [line.split() for line in ours.splitlines()]
    assert rows[0] == ["CLASS", "KIND", "VERSION", "LOCATION", "ALIASES"]
    assert ["clicks.ClicksConnector", "source", "2.5", str(wheel), "ClicksConnector,", "Clicks,", "web-clicks"] in rows
    assert any(row[:2] == ["org.apache.kafka.connect.json.JsonConverter", "converter"] for row in rows)
    assert [line.split() for line in javas.splitlines()] == [["CLASS", "LOCATION"], [S3, str(jar)]]


def test_the_list_of_a_path_without_javas_plugins() -> None:
    done = invoke("list")
    assert "FileStreamSource" in done.output
    assert "Java" not in done.output


@pytest.mark.parametrize(
    ("name", "text"), [("9lives", "is not a name"), ("taken", "exists already"), ("a/b", "is not a name")]
)
def test_no_project_under_such_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    (tmp_path / "taken").mkdir()
    monkeypatch.chdir(tmp_path)
    done = invoke("new", name)
    assert (done.exit_code, text in done.output) == (1, True)


@pytest.mark.timeout(600)
@pytest.mark.nightly
@pytest.mark.parametrize("kind", CLASSES)
def test_a_new_project_is_well_and_can_be_installed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    tmp_path = tmp_path_factory.mktemp("p")  # a short name: the project's lines hold it
    monkeypatch.chdir(tmp_path)
    assert invoke("new", "click-counts", f"--{kind}").exit_code == 0
    project, settings = tmp_path / "click-counts", str(ROOT / "pyproject.toml")
    run(project, "ruff", "check", "--no-cache", "--config", settings, ".")
    run(project, "ruff", "format", "--no-cache", "--check", "--config", settings, ".")
    run(project, "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), "click_counts", "tests")
    run(project, "pytest", "-q", "-p", "no:cacheprovider")
    # As a project, as a wheel, and unpacked: the same class.
    run(project, "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "wheels"))
    (wheel,) = (tmp_path / "wheels").iterdir()
    shutil.unpack_archive(wheel, tmp_path / "unpacked" / "counts", "zip")
    for place in (project, tmp_path / "wheels", tmp_path / "unpacked"):
        found = [one for one in Plugins([str(place)]).all() if one.location.startswith(str(tmp_path))]
        assert [(one.class_name, one.version) for one in found] == [(CLASSES[kind], "0.1.0")]


def run(folder: Path, module: str, *words: str) -> None:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", module, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, f"{module} {words}\n{done.stdout}{done.stderr}"
