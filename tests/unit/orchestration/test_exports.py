"""What `import connect_dagster` gives, and what it costs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from dagster_shared.libraries import DagsterLibraryRegistry

import connect_dagster
from connect_dagster import orchestration

REPOSITORY = Path(__file__).parents[3]


def test_all_of_orchestration_can_be_imported_from_the_top() -> None:
    assert set(orchestration.__all__) <= set(dir(connect_dagster))
    assert all(getattr(connect_dagster, name) is getattr(orchestration, name) for name in orchestration.__all__)


@pytest.mark.nightly
def test_type_checkers_see_the_exported_names() -> None:
    program = f"from connect_dagster import {', '.join(orchestration.__all__)}"
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "-c", program]
    found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert found.stdout == "Success: no issues found in 1 source file\n"


def test_the_guide_names_every_export() -> None:
    guide = (REPOSITORY / "docs" / "dagster.md").read_text(encoding="utf-8")
    assert [name for name in orchestration.__all__ if not re.search(rf"`{name}`", guide)] == []


def test_dagster_knows_the_library_by_its_version() -> None:
    assert DagsterLibraryRegistry.get()["connect-dagster"] == connect_dagster.__version__


@pytest.mark.parametrize("name", ["Nothing", "__wrapped__", "workspace"])
def test_what_is_not_there_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'connect_dagster' has no attribute '{name}'"):
        getattr(connect_dagster, name)


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import connect_dagster; connect_dagster.__version__", {"dagster", "pydantic"}),
        ("from connect_dagster import plugin", {"dagster"}),
        ("from connect_dagster import FileStreamSourceResource", {"pyspark", "connect_dagster.connectors"}),
        ("from connect_dagster import SparkSinkResource", {"pyspark", "connect_dagster.connectors"}),
    ],
)
def test_nothing_is_imported_that_is_not_asked_for(statement: str, absent: set[str]) -> None:
    code = f"import sys; {statement}; print(sorted({absent!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
