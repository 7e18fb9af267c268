"""Plugins of different places: each sees its own copies, and the worker its own."""

import importlib
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql.types import LongType

from connect_dagster.isolation.plugin_source import PluginSource, class_path, plain_names
from tests.plugin_packages import distribution, write_files, write_wheel

ASKING = """
import importlib
import importlib.metadata
import depot
import depot.parts as parts
from depot.parts import NUMBER
import requests

def lazily():
    import depot.late
    return depot.late.NUMBER

def by_name(): return importlib.import_module("depot.late").NUMBER
def by_call(): return __import__("depot").NUMBER
def version(): return importlib.metadata.version("depot")
def numbers(): return [depot.NUMBER, parts.NUMBER, NUMBER, lazily(), by_name(), by_call()]

class Asker:
    def number(self): return numbers()
"""


def depot(number: int) -> dict[str, str]:
    parts = {
        "depot/__init__.py": "from .parts import NUMBER",
        "depot/parts.py": f"NUMBER = {number}",
        "depot/late.py": "from depot.parts import NUMBER",
    }
    return distribution("depot", f"{number}.0", parts, {})


def place(folder: Path, number: int) -> PluginSource:
    shipped = {"asking.py": ASKING, "requests.py": f"SHIPPED = {number}", "json.py": "raise RuntimeError"}
    return PluginSource(write_files(folder, {**depot(number), **shipped}))


def test_s4_11_two_plugins_with_conflicting_versions_of_one_dependency(tmp_path: Path) -> None:
    one, two = (place(tmp_path / name, number) for number, name in enumerate(("a_b", "a-b"), start=1))
    asking = [source.load("asking") for source in (one, two, one)]
    assert [module.numbers() for module in asking] == [[1] * 6, [2] * 6, [1] * 6]
    assert [module.version() for module in asking] == ["1.0", "2.0", "1.0"]
    assert [module.requests.SHIPPED for module in asking] == [1, 2, 1]


def test_the_worker_sees_its_own(tmp_path: Path) -> None:
    place(tmp_path, 1).load("asking")
    assert importlib.import_module("requests") is requests
    assert hasattr(requests, "Session")
    assert not {"depot", "asking"} & set(sys.modules)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("depot")
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("depot")


def test_what_a_place_lacks_is_the_workers(tmp_path: Path) -> None:
    code = "import json, yaml, importlib.metadata\nVERSION = importlib.metadata.version('pyyaml')"
    module = PluginSource(write_files(tmp_path, {"own.py": code, "json.py": "raise RuntimeError"})).load("own")
    assert module.yaml is yaml
    assert module.json is sys.modules["json"]
    assert yaml.__version__ == module.VERSION


def test_a_wheel(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path, "asking", "1", {"asking.py": ASKING, "requests.py": "", **depot(7)}, {})
    assert PluginSource(wheel).load("asking").numbers() == [7] * 6


def test_folders_among_loose_modules_are_no_packages(tmp_path: Path) -> None:
    write_files(tmp_path, {"own.py": "import yaml", "yaml/notes.txt": ""})
    assert PluginSource(tmp_path, loose=True).load("own").yaml is yaml


def test_names_as_users_know_them(tmp_path: Path) -> None:
    source = place(tmp_path, 1)
    asker: type[Any] = source.load("asking").Asker
    assert class_path(asker) == "asking.Asker"
    assert (
        plain_names(f"No module named '{source.package}.away'; {source.package} has none")
        == "No module named 'away';  has none"
    )


@pytest.mark.parametrize("loose", [False, True])
def test_the_package_name_of_a_source_holds_its_location(tmp_path: Path, loose: bool) -> None:
    source = PluginSource(tmp_path / "Über_uns 1.0" / "x", loose)
    assert source.package.rpartition(".")[2].isidentifier()
    assert PluginSource.of(f"{source.package}.any.module") == source
    assert PluginSource.of("yaml.error") is None


def test_another_process_finds_it_again(tmp_path: Path) -> None:
    asker = place(tmp_path, 5).load("asking").Asker()
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).number())"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(asker), capture_output=True, check=True)
    assert done.stdout.decode().strip() == str([5] * 6)


def test_functions_in_sparks_python_workers(tmp_path: Path, spark: SparkSession) -> None:
    code = """
import pandas as pd
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql.types import LongType
import depot

def by_reference(values: pd.Series) -> pd.Series:
    import depot.late
    return values + depot.late.NUMBER

def made_inside():
    def inner(values: pd.Series) -> pd.Series:
        import depot.late
        return values + depot.late.NUMBER + depot.NUMBER
    return inner
"""
    for number in (10, 20):
        module = PluginSource(write_files(tmp_path / str(number), {"own.py": code, **depot(number)})).load("own")
        udf: Any = F.pandas_udf  # type: ignore[attr-defined]
        columns = [udf(one, LongType())("id") for one in (module.by_reference, module.made_inside())]
        rows = spark.range(2).select(*columns).collect()
        assert [tuple(row) for row in rows] == [(number, 2 * number), (number + 1, 2 * number + 1)]
