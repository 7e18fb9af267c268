"""Text of a new connector's file: properties, a create request, or Dagster's component, by its ending. Pure.

Each form is one that ``connect-dagster apply`` reads.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval, parse
from collections.abc import Callable, Mapping
from pathlib import Path

from connect_dagster.java.properties import property_lines

Config = Mapping[str, str | None]

_COMPONENT = "connect_dagster.KafkaConnectConnectorComponent"
_OWN_FIELDS = ("name", "connector.class", "tasks.max")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
# Jinja's marks, and the line ends that it changes.
_CHANGED_BY_TEMPLATES = ("{{", "{%", "{#", "\n", "\r")


def connector_text(path: Path, config: Config, url: str) -> str:
    """Return the text of a connector's file.

    Args:
        path: of the file, whose ending is one of :data:`ENDINGS`.
        config: the connector's configuration with its name.
        url: REST address of the worker, which a component has.
    """
    return ENDINGS[path.suffix](config, url)


def _properties(config: Config, _: str) -> str:
    # Java reads the file as ISO-8859-1.
    return _BEYOND_ASCII.sub(_escaped, property_lines({key: value or "" for key, value in config.items()}))


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _request(config: Config, _: str) -> str:
    rest = {key: value for key, value in config.items() if key != "name"}
    return f"{json.dumps({'name': config['name'], 'config': rest}, indent=2, ensure_ascii=False)}\n"


def _component(config: Config, url: str) -> str:
    import yaml

    tasks = config.get("tasks.max") or ""
    own = _OWN_FIELDS if tasks.isdecimal() else _OWN_FIELDS[:2]
    connector = {
        "name": template_text(config["name"] or ""),
        "connector_class": config["connector.class"],
        **({"tasks_max": int(tasks)} if tasks.isdecimal() else {}),
        "config": {key: value and template_text(value) for key, value in config.items() if key not in own},
    }
    document = {"type": _COMPONENT, "attributes": {"workspace": {"url": url}, "connectors": [connector]}}
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    return text


ENDINGS: Mapping[str, Callable[[Config, str], str]] = {
    ".properties": _properties,
    ".json": _request,
    ".yaml": _component,
    ".yml": _component,
}
"""Forms of a connector's file by the ending of its name."""


def template_text(value: str) -> str:
    """Return the template that Dagster resolves to a text; most texts are their own.

    Dagster takes what looks like a literal of Python for one: 1.10 would become 1.1.

    Examples:
        >>> template_text("/tmp/lines.txt"), template_text("7"), template_text("1.10")
        ('/tmp/lines.txt', '7', "'1.10'")
    """
    if any(mark in value for mark in _CHANGED_BY_TEMPLATES):
        return f"{{% raw %}}{value!r}{{% endraw %}}"
    try:
        literal = literal_eval(parse(value, mode="eval"))
    except (ValueError, SyntaxError):
        return value
    return value if type(literal) is int and str(literal) == value else repr(value)
