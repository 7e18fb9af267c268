"""Components as a project has them: a `defs.yaml` in a folder, loaded by Dagster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dagster as dg
from dagster.components.testing.utils import create_defs_folder_sandbox


@contextmanager
def loaded(
    component: type[dg.Component],
    attributes: Mapping[str, Any],
    files: Mapping[str, str] | None = None,
    folder: str = "ingest",
) -> Iterator[tuple[Any, dg.Definitions]]:
    """A component with these attributes, in a folder with files beside it, and its definitions."""
    with create_defs_folder_sandbox() as sandbox:
        contents = {"type": f"connect_dagster.{component.__name__}", "attributes": dict(attributes)}
        path = sandbox.scaffold_component(component_cls=component, defs_path=folder, defs_yaml_contents=contents)
        for name, text in (files or {}).items():
            (path / name).write_text(text)
        with sandbox.load_component_and_build_defs(defs_path=path) as found:
            yield found


@contextmanager
def scaffolded(component: type[dg.Component], **params: Any) -> Iterator[tuple[Any, dg.Definitions]]:
    """A component as `dg scaffold defs` leaves it, and its definitions."""
    with create_defs_folder_sandbox() as sandbox:
        path = sandbox.scaffold_component(component_cls=component, scaffold_params=params or None)
        with sandbox.load_component_and_build_defs(defs_path=path) as found:
            yield found
