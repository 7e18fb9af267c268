"""A task's module loads the framework around one task, and no plugin."""

import json
import subprocess
import sys

import pytest

PLUGINS = tuple(
    f"connect_dagster.{room}." for room in ("connectors", "converters", "transforms", "predicates", "config_providers")
)
MOST_MODULES = 113


@pytest.mark.parametrize("module", ["connect_dagster.worker.source.task", "connect_dagster.worker.sink.task"])
def test_a_task_module_loads_no_plugin(module: str) -> None:
    program = f"import json, sys, {module}; print(json.dumps(sorted(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ours = [name for name in json.loads(ran.stdout) if name.partition(".")[0] == "connect_dagster"]
    assert [name for name in ours if f"{name}.".startswith(PLUGINS)] == []
    assert len(ours) <= MOST_MODULES
