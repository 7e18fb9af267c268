"""All imports of Dagster's private modules: names that its own integrations use and it does not export.

Checked against Dagster 1.13, which is pinned.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dagster import ComponentLoadContext
from dagster._core.definitions.data_version import DATA_VERSION_TAG
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, StateBackedDefinitionsLoader
from dagster._core.definitions.freshness import TimeWindowFreshnessPolicy
from dagster._core.definitions.metadata.metadata_set import NamespacedMetadataSet, TableMetadataSet, UriMetadataSet
from dagster._core.definitions.metadata.source_code import merge_code_references
from dagster._core.definitions.tags.tag_set import NamespacedTagSet
from dagster._core.storage.defs_state.base import DefsStateStorage
from dagster._utils.warnings import disable_dagster_warnings
from dagster.components.component_scaffolding import scaffold_component
from dagster.components.utils.defs_state import DefsStateConfig, DefsStateConfigArgs, ResolvedDefsStateConfig
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver

__all__ = [
    "DATA_VERSION_TAG",
    "DefsStateConfig",
    "DefsStateConfigArgs",
    "NamespacedMetadataSet",
    "NamespacedTagSet",
    "ResolvedDefsStateConfig",
    "StateBackedDefinitionsLoader",
    "TableMetadataSet",
    "TimeWindowFreshnessPolicy",
    "TranslationFn",
    "TranslationFnResolver",
    "UriMetadataSet",
    "disable_dagster_warnings",
    "last_state",
    "load_context",
    "merge_code_references",
    "scaffold_component",
]


def load_context() -> object | None:
    """Return the load of a code location that is under way; None outside of one."""
    return DefinitionsLoadContext.get() if DefinitionsLoadContext.is_set() else None


@contextmanager
def last_state(config: DefsStateConfig, context: ComponentLoadContext) -> Iterator[Path | None]:
    """Yield the file with the last stored state of a component; None without one."""
    load = DefinitionsLoadContext.get()
    with load.state_path(config, DefsStateStorage.get(), context.project_root) as path:
        yield path
