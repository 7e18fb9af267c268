"""The pages of the project: links and paths in them lead somewhere, commands for contributors are targets of make."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_files_of_the_architecture_exist() -> None:
    paths = re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", ARCHITECTURE)
    assert len(paths) > 40
    assert [path for path in paths if not _of_package(path).exists() and not (ROOT / path).exists()] == []


def _of_package(path: str) -> Path:
    worker_rooms = ("source/", "sink/", "errors/", "config/", "spark/", "metrics/")
    herder_rooms = ("standalone/", "distributed/", "validation/")
    parent = "worker" if path in worker_rooms else "herder" if path in herder_rooms else ""
    return ROOT / "connect_dagster" / parent / path


def test_the_rooms_of_the_architecture_are_all_there_are() -> None:
    package = ROOT / "connect_dagster"
    table = ARCHITECTURE.partition("## Rooms")[2].partition("## Three walks")[0]
    rooms = {room.parent.name for room in package.glob("*/__init__.py")}
    named = {cell for row in table.splitlines() for cell in re.findall(r"`(\w+)/`", row.split(" | ")[0])}
    assert rooms <= named | {"worker"}


def test_commands_for_contributors_are_targets_of_make() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    commands = re.findall(r"^make (\w+)$|`make (\w+)`", text, re.MULTILINE)
    listed = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for command in {first or second for first, second in commands} - {"help"}:
        assert f"make {command} " in listed
