"""Find declared connectors for ``connect-dagster diff`` and ``apply``: in files, components, and Python modules."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from dagster.components.resolved.errors import ResolutionException
from pydantic import ValidationError

from connect_dagster.cli.connectors.rest_access import Trouble
from connect_dagster.errors import ConnectError
from connect_dagster.orchestration.components import KafkaConnectConnectorComponent
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.resources.connector import ConnectorResource

YAML = (".yaml", ".yml")


def declarations(arguments: Sequence[str]) -> list[KafkaConnectConnectorSpec]:
    """Return the connectors that arguments of the command line declare, in their order.

    Raises:
        Trouble: an argument declares none, or two connectors have the same name.
    """
    found = [spec for argument in arguments for spec in _declared(argument)]
    names = [spec.name for spec in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Trouble(f"{', '.join(twice)} is declared twice")
    return found


def _declared(argument: str) -> Iterable[KafkaConnectConnectorSpec]:
    if (path := Path(argument)).exists():
        return _of_component(path) if path.suffix in YAML else [_of_file(argument)]
    module, colon, name = argument.partition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), name)):
        raise Trouble(
            f"The file {argument} does not exist; a declaration is a file, or module:name of connectors in Python"
        )
    return _of_module(module, name)


def _of_file(path: str) -> KafkaConnectConnectorSpec:
    try:
        return KafkaConnectConnectorSpec.from_file(path)
    except ConnectError as error:
        raise Trouble(str(error)) from error


def _of_component(path: Path) -> list[KafkaConnectConnectorSpec]:
    """Return the connectors of a component's file; those of other components beside them are left out."""
    try:
        documents = list(yaml.safe_load_all(path.read_text()))
        # Files that it names stand beside it.
        with chdir(path.parent):
            return [spec for document in documents for spec in _of_document(document)]
    except (yaml.YAMLError, ResolutionException, ValidationError) as error:
        raise Trouble(f"{path}: {error}") from error


def _of_document(document: Any) -> list[KafkaConnectConnectorSpec]:
    module, _, name = str(document.get("type", "")).rpartition(".")
    component = _loaded(module, name)
    if not (isinstance(component, type) and issubclass(component, KafkaConnectConnectorComponent)):
        return []
    declared: KafkaConnectConnectorComponent = component.resolve_from_dict(document.get("attributes") or {})
    return declared.connectors


def _of_module(module: str, name: str) -> list[KafkaConnectConnectorSpec]:
    return list(_specs(_loaded(module, name), f"{module}:{name}"))


def _loaded(module: str, name: str) -> object:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: object = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise Trouble(f"{module}:{name} cannot be loaded: {error}") from error
    return found


def _specs(declared: object, where: str) -> Iterator[KafkaConnectConnectorSpec]:
    match declared:
        case KafkaConnectConnectorSpec():
            yield declared
        case ConnectorResource():
            yield declared.spec()
        case list() | tuple():
            for each in declared:
                yield from _specs(each, where)
        case _:
            raise Trouble(
                f"{where} holds {type(declared).__name__}, where KafkaConnectConnectorSpec or ConnectorResource "
                "were expected, or a list of them"
            )
