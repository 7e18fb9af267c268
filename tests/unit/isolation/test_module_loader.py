"""Imports of plugins: each way to import finds the modules of the plugin's own source."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql.types import LongType

from connect_dagster.isolation.plugin_source import PluginSource
from tests.plugin_packages import distribution, write_files, write_wheel

WAYS = {
    "in a function": """
def number():
    import depot.late
    return depot.late.NUMBER
""",
    "of a name in a function": """
def number():
    from depot.late import NUMBER
    return NUMBER
""",
    "in a method": """
class Asker:
    def number(self):
        import depot
        return depot.NUMBER

def number(): return Asker().number()
""",
    "in a class body": """
def number():
    class Asker:
        import depot
    return Asker.depot.NUMBER
""",
    "in a lambda": "number = lambda: __import__('depot.late').late.NUMBER",
    "in a generator": """
def numbers():
    import depot
    yield depot.NUMBER

def number(): return next(numbers())
""",
    "in executed code": """
def number():
    names = {}
    exec("import depot.late; n = depot.late.NUMBER", names)
    return names["n"]
""",
    "in code with the module's names": """
NAME = "depot"
def number(): return eval("__import__(NAME).NUMBER", globals())
""",
    "in a thread": """
from concurrent.futures import ThreadPoolExecutor

def ask():
    import depot.late
    return depot.late.NUMBER

def number():
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(ask).result()
""",
    "by importlib": """
import importlib
def number(): return importlib.import_module("depot.late").NUMBER
""",
    "by importlib under another name": """
import importlib.util as util, importlib as machinery
def number(): return machinery.import_module("depot").NUMBER if util.find_spec("depot") else 0
""",
    "by a function of importlib": """
from importlib import import_module
def number(): return import_module("depot.late").NUMBER
""",
    "by importlib, relative": """
import importlib
def number(): return importlib.import_module(".late", importlib.import_module("depot").__name__).NUMBER
""",
    "relative": "from depot.within import number",
    "of everything": """
from depot.late import *
def number(): return NUMBER
""",
}
RESOURCES = """
import importlib.resources
import pkgutil
from importlib.resources import files

def texts():
    import depot
    return [
        files("depot").joinpath("note.txt").read_text(),
        importlib.resources.read_text("depot", "note.txt"),
        files(depot).joinpath("note.txt").read_text(),
        pkgutil.get_data(depot.__name__, "note.txt").decode(),
        depot.NOTE,
    ]
"""
SPARK = """
import pandas as pd

def lazily():
    def inner(values: pd.Series) -> pd.Series:
        import depot.late
        return values + depot.late.NUMBER
    return inner

def nested():
    def outer(values: pd.Series) -> pd.Series:
        def inner():
            from depot.late import NUMBER
            return NUMBER
        return values + inner()
    return outer

def of_a_class():
    class Adder:
        def add(self, values):
            import depot
            return values + depot.NUMBER
    def inner(values: pd.Series) -> pd.Series:
        return Adder().add(values)
    return inner
"""


INIT = """
import pkgutil
from .parts import NUMBER
NOTE = pkgutil.get_data(__name__, "note.txt").decode()
"""
WITHIN = """
def number():
    from . import late
    from .parts import NUMBER
    return late.NUMBER
"""


def depot(number: int) -> dict[str, str]:
    modules = {
        "depot/__init__.py": INIT,
        "depot/parts.py": f"NUMBER = {number}",
        "depot/late.py": "from depot.parts import NUMBER",
        "depot/within.py": WITHIN,
        "depot/note.txt": f"of {number}",
        "space/depot.py": "def number():\n    import space.other\n    return space.other.NUMBER",
        "space/other.py": f"NUMBER = {number}",
    }
    return distribution("depot", f"{number}.0", modules, {})


def in_folder(place: Path, number: int, code: str) -> PluginSource:
    return PluginSource(write_files(place / str(number), {"own.py": code, **depot(number)}))


def in_wheel(place: Path, number: int, code: str) -> PluginSource:
    (place / str(number)).mkdir()
    return PluginSource(write_wheel(place / str(number), "own", "1", {"own.py": code, **depot(number)}, {}))


@pytest.mark.parametrize("make", [in_folder, in_wheel])
@pytest.mark.parametrize("code", WAYS.values(), ids=WAYS.keys())
def test_an_import(tmp_path: Path, code: str, make: Callable[[Path, int, str], PluginSource]) -> None:
    asking = [make(tmp_path, number, code).load("own") for number in (1, 2)]
    assert [module.number() for module in asking] == [1, 2]
    assert not {"depot", "own", "space"} & set(sys.modules)


def test_an_import_of_a_namespace_package(tmp_path: Path) -> None:
    asking: list[Any] = [in_folder(tmp_path, number, "from space.depot import number").load("own") for number in (1, 2)]
    assert [module.number() for module in asking] == [1, 2]
    assert "space" not in sys.modules


@pytest.mark.filterwarnings("ignore::DeprecationWarning:importlib.resources", "ignore:(read|open)_text is deprecated")
@pytest.mark.parametrize("make", [in_folder, in_wheel])
def test_resources_by_plain_names(tmp_path: Path, make: Callable[[Path, int, str], PluginSource]) -> None:
    asking = [make(tmp_path, number, RESOURCES).load("own") for number in (1, 2)]
    assert [module.texts() for module in asking] == [["of 1"] * 5, ["of 2"] * 5]


def test_importlib_of_a_plugin_is_complete(tmp_path: Path) -> None:
    import importlib.util

    module: Any = PluginSource(write_files(tmp_path, {"own.py": "import importlib, importlib.util"})).load("own")
    assert set(dir(module.importlib)) == set(dir(importlib))
    assert module.importlib.reload is importlib.reload
    assert module.importlib.util.module_from_spec is importlib.util.module_from_spec
    assert isinstance(module.importlib, ModuleType)
    assert module.importlib.import_module("importlib") is module.importlib


def test_the_loader_of_a_module_is_pythons(tmp_path: Path) -> None:
    module = in_folder(tmp_path, 1, "LOADER = __loader__").load("own")
    assert type(module.LOADER).__module__.startswith("_frozen_importlib")
    assert module.LOADER is module.__loader__
    assert module.__spec__ is not None
    assert module.LOADER is module.__spec__.loader


def test_a_c_extension_of_a_source(tmp_path: Path) -> None:
    import markupsafe._speedups as extension  # a small one without dependencies

    file = Path(extension.__file__)
    (tmp_path / file.name).write_bytes(file.read_bytes())
    module: Any = PluginSource(write_files(tmp_path, {"own.py": "import _speedups"})).load("own")
    assert module._speedups.__file__ == str(tmp_path / file.name)
    assert module._speedups._escape_inner("<") == "&lt;"


def test_the_interpreter_stays_as_it_is(tmp_path: Path) -> None:
    in_folder(tmp_path, 1, WAYS["by importlib"])
    code = f"""
import builtins, importlib, importlib.resources, importlib.util, sys
from pathlib import Path

def state():
    functions = builtins.__import__, importlib.import_module, importlib.util.find_spec, importlib.resources.files
    return functions, dict(vars(builtins))

before, finders = state(), list(sys.meta_path)
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.isolation.plugin_source import PluginSource
Plugins()
assert sys.meta_path == finders, sys.meta_path
assert PluginSource(Path({str(tmp_path / "1")!r})).load("own").number() == 1
assert state() == before
assert len(sys.meta_path) == len(finders) + 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.nightly
def test_functions_by_value_in_sparks_python_workers(tmp_path: Path, spark: SparkSession) -> None:
    udf: Any = F.pandas_udf  # type: ignore[attr-defined]
    for number in (10, 20):
        module = in_folder(tmp_path, number, SPARK).load("own")
        functions = [module.lazily(), module.nested(), module.of_a_class()]
        row = spark.range(1).select(*(udf(one, LongType())("id") for one in functions)).first()
        assert row is not None
        assert tuple(row) == (number, number, number)
