"""The data and the stub of Dagster's resources for the connectors that ship: ``make docs`` writes them."""

import inspect
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import GenericAlias, UnionType
from typing import Any

from connect_dagster.isolation.plugins import Kind, PluginDescription, Plugins
from connect_dagster.orchestration.resources import connector
from connect_dagster.orchestration.resources.connector import ConnectorResource
from connect_dagster.orchestration.resources.resource_type import connector_resource_type, resource_name
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.config.infos import key_info
from connect_dagster.worker.config.connector import ConnectorConfig
from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.source import SourceConnectorConfig

FOLDER = Path(connector.__file__).parent
_KEPT = ("name", "type", "required", "default_value", "documentation")


@dataclass(frozen=True, slots=True)
class Shipped:
    """A resource that ships; ``connector_class`` is empty for those that others extend."""

    name: str
    base: str
    config_def: type[ConfigDef]
    doc: str
    connector_class: str = ""


BASES = (
    Shipped(
        "FrameworkConnectorResource",
        ConnectorResource.__name__,
        ConnectorConfig,
        "A connector, with a field for each key of Kafka Connect itself.",
    ),
    Shipped(
        "SourceConnectorResource",
        "FrameworkConnectorResource",
        SourceConnectorConfig,
        "A source, with a field for each key of all sources.",
    ),
    Shipped(
        "SinkConnectorResource",
        "FrameworkConnectorResource",
        SinkConnectorConfig,
        "A sink, with a field for each key of all sinks.",
    ),
)


def _shipped(connector: PluginDescription[Any], base: str) -> Shipped:
    """Return the resource of a connector: named after its class, with the first line of its docstring."""
    doc, name = inspect.getdoc(connector.plugin) or "", resource_name(connector.class_name)
    return Shipped(name, base, connector.plugin.config_def, doc.partition("\n")[0], connector.class_name)


_PLUGINS = Plugins()
SHIPPED = (
    *BASES,
    *(_shipped(each, "SourceConnectorResource") for each in _PLUGINS.all((Kind.SOURCE,))),
    *(_shipped(each, "SinkConnectorResource") for each in _PLUGINS.all((Kind.SINK,))),
)


def resource_types() -> dict[str, type[ConnectorResource]]:
    """Return the resources by name, as ``connector_resource_type`` makes them from the configuration definitions."""
    made = {ConnectorResource.__name__: ConnectorResource}
    for each in SHIPPED:
        made[each.name] = connector_resource_type(each.config_def, each.connector_class, base=made[each.base])
    return made


def resource_files() -> dict[str, str]:
    """Return the text of each file by its name."""
    return {"bundled.json": _definitions(), "bundled.pyi": _stub()}


def _definitions() -> str:
    inherited = {"name", "connector.class", "tasks.max"}
    entries = []
    for each in SHIPPED:
        keys = [key_info(key) for key in each.config_def.table() if key.name not in inherited]
        if each.name == "FrameworkConnectorResource":
            inherited |= {key["name"] for key in keys}
        head = {"base": each.base, "doc": each.doc, "connector_class": each.connector_class}
        lines = [_json({name: key[name] for name in _KEPT}) for key in keys]
        entries.append(f'{_json(each.name)}: {_json(head)[:-1]}, "keys": [\n' + ",\n".join(lines) + "]}")
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _stub() -> str:
    made = resource_types()
    head = (
        "# Written by `make docs`.\n\nfrom connect_dagster.orchestration.resources.connector import ConnectorResource\n"
    )
    names = "".join(f"    {_json(each.name)},\n" for each in sorted(SHIPPED, key=lambda each: each.name))
    return "\n".join([head, f"__all__ = [\n{names}]\n", *(_stub_class(each, made) for each in SHIPPED)])


def _stub_class(each: Shipped, made: dict[str, type[ConnectorResource]]) -> str:
    known = made[each.base].model_fields
    fields = {name: field for name, field in made[each.name].model_fields.items() if name not in known}
    lines = [
        f"    {name}: {_type_source(field.annotation)}{'' if field.is_required() else ' = ...'}"
        for name, field in fields.items()
    ]
    if each.connector_class:
        lines.insert(0, "    connector_class: str = ...")
    return "\n".join([f"class {each.name}({each.base}):", f'    """{each.doc}"""', "", *lines, ""])


def _type_source(annotation: Any) -> str:
    is_plain = isinstance(annotation, type) and not isinstance(annotation, UnionType | GenericAlias)
    return annotation.__name__ if is_plain else str(annotation)


def main() -> None:
    """Write all files."""
    for name, text in resource_files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{len(resource_files())} files in {FOLDER.relative_to(Path.cwd())}\n")


if __name__ == "__main__":
    main()
