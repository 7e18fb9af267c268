"""The names of the plugin API: exported, documented and in their modules, without PySpark at the import."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import connect_dagster.plugin as api

GUIDE = Path(__file__).parents[3] / "docs" / "plugins.md"
ROWS = re.findall(
    r"^\| `(\w+)` \| (.*) \|$", GUIDE.read_text(encoding="utf-8").partition("## All names")[2], re.MULTILINE
)
DOCUMENTED = [(module, name) for module, names in ROWS for name in re.findall(r"`(\w+)`", names)]


def test_exported_names_are_those_of_the_guide() -> None:
    assert sorted(api.__all__) == sorted(name for _, name in DOCUMENTED)


def test_each_name_is_the_one_of_its_documented_module() -> None:
    for module, name in DOCUMENTED:
        assert getattr(api, name) is getattr(import_module(f"connect_dagster.plugin.{module}"), name)


def test_configuration_names_load_no_pyspark() -> None:
    names = [name for module, name in DOCUMENTED if module in ("config", "config_provider", "errors")]
    program = f"import sys; from connect_dagster.plugin import {', '.join(names)}; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
