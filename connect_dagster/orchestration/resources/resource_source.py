"""Source code of typed resources, formatted, for editors and type checkers."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from types import GenericAlias, UnionType
from typing import Any

from pydantic.fields import FieldInfo

from connect_dagster.orchestration.resources.connector import ConnectorResource

# The rest of 120 columns after an argument's name, and on a separate line.
LONGEST_BESIDE, LONGEST_ALONE = 97, 106


@dataclass(frozen=True, slots=True)
class WrittenResource:
    """A resource whose source is written.

    Attributes:
        name: Its name.
        doc: Its docstring, one sentence.
        made: The type with its fields, made by :func:`connector_resource_type`.
        base: Name of its base class.
        base_fields: Fields that has.
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
        imported_from: The module it imports from.
        imported: What it imports.
        classes: The resources, bases first.
    """
    head = f'"""{title}"""\n\nfrom pydantic import Field\n\nfrom {imported_from} import {imported}\n'
    return "\n\n".join([head, *(each.source() for each in classes)])


def _field_lines(name: str, field: FieldInfo) -> list[str]:
    arguments = [
        *([] if field.is_required() else [f"default={_literal(field.default)},"]),
        *_text_lines("description", field.description or ""),
        *([f"json_schema_extra={_literal(field.json_schema_extra)},"] if field.json_schema_extra else []),
    ]
    annotation = _type_source(field.annotation)
    return [f"    {name}: {annotation} = Field(", *(f"        {argument}" for argument in arguments), "    )"]


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
    if len(text) <= LONGEST_BESIDE:
        return [f"{name}={_literal(text)},"]
    return [f"{name}=(", *(f"    {_literal(piece)}" for piece in _pieces(text)), "),"]


def _pieces(text: str) -> Iterable[str]:
    while len(text) > LONGEST_ALONE:
        cut = text.rfind(" ", 0, LONGEST_ALONE) + 1 or LONGEST_ALONE
        yield text[:cut]
        text = text[cut:]
    yield text
