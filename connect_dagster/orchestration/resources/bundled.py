"""Resources for the connectors that ship, with a field for each configuration key.

The classes are made from ``bundled.json``, the responses of ``GET /connector-plugins/<class>/config``, so that
definitions load without PySpark and without the plugins' code. ``make docs`` writes that file from the configuration
definitions, and ``bundled.pyi`` for type checkers and editors.
"""

import json
from importlib.resources import files
from typing import Any

from connect_dagster.client.types import KeyDefinition
from connect_dagster.orchestration.resources.connector import ConnectorResource
from connect_dagster.orchestration.resources.resource_type import live_resource_type

_DEFINITIONS: dict[str, Any] = json.loads(files(__package__).joinpath("bundled.json").read_text(encoding="utf-8"))


def _resource_types() -> dict[str, type[Any]]:
    made: dict[str, type[Any]] = {ConnectorResource.__name__: ConnectorResource}
    for name, declared in _DEFINITIONS.items():
        keys = [KeyDefinition.model_validate(key) for key in declared["keys"]]
        base = made[declared["base"]]
        made[name] = live_resource_type(keys, declared["connector_class"], base, name=name, doc=declared["doc"])
        made[name].__module__ = __name__
    return made


__all__ = list(_DEFINITIONS)
globals().update(_resource_types())
