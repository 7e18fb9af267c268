"""Kafka Connect in Python: connectors run on Spark, clusters are operated from Dagster.

What :mod:`connect_dagster.orchestration` exports can be imported from here as well, components included, which is
where ``dg`` finds them. It is loaded when it is first asked for: a worker starts without Dagster.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__version__ = "0.1.0"

_ORCHESTRATION = "connect_dagster.orchestration"


def __getattr__(name: str) -> Any:
    # A submodule that is not imported yet is asked for here too; the import system then finds it by itself.
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:
        orchestration = import_module(_ORCHESTRATION)
        if name in orchestration.__all__:
            return getattr(orchestration, name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module(_ORCHESTRATION).__all__})
