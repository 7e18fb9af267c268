"""Typed resources from a plugin's configuration definition: a field for each key, with its type and text.

For plugins that users write. Those of the plugins that ship are in
:mod:`connect_dagster.orchestration.resources.bundled`, with a stub for editors and type checkers, whose source is
written by :class:`WrittenResource`.
"""

import json
import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import GenericAlias, UnionType
from typing import Any

from pydantic import Field, create_model
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

from connect_dagster.client.connector_classes import simple_name
from connect_dagster.client.masking import is_url_key
from connect_dagster.client.types import KeyDefinition
from connect_dagster.orchestration.resources.connector import (
    CONFIG_KEY,
    CONNECTOR_CLASS_TEXT,
    ConnectorResource,
    config_fields,
)
from connect_dagster.orchestration.secret_fields import SECRET, SECRET_URL
from connect_dagster.plugin.config import NO_DEFAULT, ConfigDef, ConfigKey, Type, parse_value, to_text

# The rest of 120 columns after an argument's name, on a separate line, and for a whole argument.
_LONGEST_BESIDE, _LONGEST_ALONE, _LONGEST_LINE = 97, 106, 112
_OWN_KEYS = frozenset({"name", "connector.class", "tasks.max"})
_PYTHON_TYPES: dict[Type, Any] = {
    Type.BOOLEAN: bool,
    Type.INT: int,
    Type.SHORT: int,
    Type.LONG: int,
    Type.DOUBLE: float,
    Type.LIST: list[str],
}


def connector_resource_type(
    config_def: type[ConfigDef], connector_class: str, *, base: type[ConnectorResource] = ConnectorResource
) -> type[Any]:
    """Create the typed resource for a plugin from its configuration definition.

    A key ``batch.size`` becomes a field ``batch_size``. The configuration contains only fields that are given, so the
    plugin's default applies to the others.

    Args:
        config_def (Type[ConfigDef]): The plugin's configuration definition.
        connector_class (str): The value of ``connector.class``.
        base (Type[ConnectorResource]): The base class: ``SourceConnectorResource`` and ``SinkConnectorResource``
            have fields for the keys of all sources and sinks. Defaults to a connector without such fields.

    Returns:
        Type[Any]: The resource's class, a subclass of ``base``; type checkers do not know its fields.

    Examples:
        .. code-block:: python

            from connect_dagster import KafkaConnectWorkspace, SourceConnectorResource, connector_resource_type
            from connect_dagster.plugin.config import ConfigDef, Type, config_key

            class DiceConfig(ConfigDef):
                topic: str = config_key("topic", type=Type.STRING, doc="Where rolls go.")
                rolls_per_second: int = config_key("rolls.per.second", type=Type.INT, default=1, doc="How often.")

            DiceResource = connector_resource_type(DiceConfig, "dice.DiceConnector", base=SourceConnectorResource)
            dice = DiceResource(workspace=KafkaConnectWorkspace(), name="dice", topic="rolls", rolls_per_second=5)
    """
    return _resource_type(config_def.table(), connector_class, base)


def live_resource_type(
    definitions: Iterable[KeyDefinition],
    connector_class: str,
    base: type[ConnectorResource],
    *,
    name: str = "",
    doc: str = "",
) -> type[Any]:
    """Create the typed resource of a plugin from the definitions that a worker, ours or Java's, returns.

    Args:
        definitions: The keys of the plugin.
        connector_class: The plugin; empty for a resource that others extend.
        base: The base class.
        name: Name of the class; made of the plugin's by default.
        doc: Docstring of the class; names the plugin by default.
    """
    return _resource_type(map(_config_key, definitions), connector_class, base, name, doc)


def _resource_type(
    keys: Iterable[ConfigKey], connector_class: str, base: type[ConnectorResource], name: str = "", doc: str = ""
) -> type[Any]:
    known = _OWN_KEYS.union(key for key, _ in config_fields(base))
    fields: dict[str, Any] = {
        field_name(key.name): (_annotation(key), _field(key)) for key in keys if key.name not in known
    }
    if connector_class:
        fields["connector_class"] = (str, Field(default=connector_class, description=CONNECTOR_CLASS_TEXT))
    return create_model(
        name or resource_name(connector_class),
        __base__=base,
        __doc__=doc or f"A connector of class {connector_class}.",
        **fields,
    )


def resource_name(connector_class: str) -> str:
    """Return the name of a connector's resource.

    Examples:
        >>> resource_name("org.apache.kafka.connect.file.FileStreamSourceConnector")
        'FileStreamSourceResource'
    """
    return f"{simple_name(connector_class)}Resource"


def field_name(key: str) -> str:
    """Return the field name of a configuration key: invalid characters become ``_``, taken names end with one.

    Examples:
        >>> field_name("batch.size"), field_name("state"), field_name("from")
        ('batch_size', 'state_', 'from_')
    """
    name = re.sub(r"^[^a-zA-Z]+", "", re.sub(r"\W", "_", key))
    taken = keyword.iskeyword(name) or hasattr(ConnectorResource, name) or name in ConnectorResource.model_fields
    return f"{name}_" if taken else name


def _config_key(definition: KeyDefinition) -> ConfigKey:
    # Only the worker knows whether a class exists.
    kind = Type.STRING if definition.type == Type.CLASS.value else Type(definition.type)
    default = NO_DEFAULT if definition.required else parse_value(definition.name, definition.default_value, kind)
    return ConfigKey(definition.name, kind, default, documentation=definition.documentation or "")


def _annotation(key: ConfigKey) -> Any:
    kind = _PYTHON_TYPES.get(key.type, str)
    return kind if key.required else kind | None


def _field(key: ConfigKey) -> Any:
    extra: JsonDict = {CONFIG_KEY: key.name, **_mark(key)}
    default: dict[str, Any] = {} if key.required else {"default": None}
    return Field(**default, description=_description(key), json_schema_extra=extra)


def _mark(key: ConfigKey) -> JsonDict:
    if key.type is Type.PASSWORD:
        return SECRET
    return SECRET_URL if is_url_key(key.name) else {}


def _description(key: ConfigKey) -> str:
    default = None if key.required or key.type is Type.PASSWORD else to_text(key.default, key.type)
    return f"{key.documentation} Default: {default}." if default else key.documentation


@dataclass(frozen=True, slots=True)
class WrittenResource:
    """A resource whose source is written.

    Attributes:
        name: Its name.
        doc: Its docstring, one sentence.
        made: The type with its fields, made by :func:`connector_resource_type`.
        base: Name of its base class.
        base_fields: Fields of the base class.
    """

    name: str
    doc: str
    made: type[ConnectorResource]
    base: str
    base_fields: frozenset[str]

    def source(self) -> str:
        """Return the source of the class."""
        own = {name: field for name, field in self.made.model_fields.items() if self._is_own(name, field)}
        fields = [line for name, field in own.items() for line in _field_lines(name, field)]
        return "\n".join([f"class {self.name}({self.base}):", f'    """{self.doc}"""', "", *fields, ""])

    def _is_own(self, name: str, field: FieldInfo) -> bool:
        return name not in self.base_fields or (name == "connector_class" and bool(field.default))


def module_source(title: str, imported_from: str, imported: str, classes: Iterable[WrittenResource]) -> str:
    """Return the source of a module with typed resources.

    Args:
        title: Its docstring.
        imported_from: The module that it imports from.
        imported: The imported names.
        classes: The resources, bases first.
    """
    head = f'"""{title}"""\n\nfrom pydantic import Field\n\nfrom {imported_from} import {imported}\n'
    return "\n\n".join([head, *(each.source() for each in classes)])


def _field_lines(name: str, field: FieldInfo) -> list[str]:
    arguments = [
        *([] if field.is_required() else [f"default={_literal(field.default)},"]),
        *_text_lines("description", field.description or ""),
        *(_extra_lines(field.json_schema_extra) if isinstance(field.json_schema_extra, dict) else []),
    ]
    annotation = _type_source(field.annotation)
    return [f"    {name}: {annotation} = Field(", *(f"        {argument}" for argument in arguments), "    )"]


def _extra_lines(extra: JsonDict) -> list[str]:
    """Return the marks of a field as an argument, one to a line where they are too long for one."""
    line = f"json_schema_extra={_literal(extra)},"
    if len(line) <= _LONGEST_LINE:
        return [line]
    return ["json_schema_extra={", *(f"    {_literal(key)}: {_literal(mark)}," for key, mark in extra.items()), "},"]


def _type_source(annotation: Any) -> str:
    is_plain = isinstance(annotation, type) and not isinstance(annotation, UnionType | GenericAlias)
    return annotation.__name__ if is_plain else str(annotation)


def _literal(value: Any) -> str:
    """Return the source of a constant, with double quotes."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False)
        case dict():
            return "{" + ", ".join(f"{_literal(key)}: {_literal(each)}" for key, each in value.items()) + "}"
        case _:
            return repr(value)


def _text_lines(name: str, text: str) -> list[str]:
    """Return the text as an argument, on several lines where it is too long for one."""
    if len(text) <= _LONGEST_BESIDE:
        return [f"{name}={_literal(text)},"]
    return [f"{name}=(", *(f"    {_literal(piece)}" for piece in _pieces(text)), "),"]


def _pieces(text: str) -> Iterable[str]:
    while len(text) > _LONGEST_ALONE:
        cut = text.rfind(" ", 0, _LONGEST_ALONE) + 1 or _LONGEST_ALONE
        yield text[:cut]
        text = text[cut:]
    yield text
