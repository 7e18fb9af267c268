"""Modules and packages that lie directly in a folder and declare nothing: plugins when they import the plugin API.

Only their text is looked at.
"""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

log = logging.getLogger(__name__)

_API = "connect_dagster.plugin"
# A folder may hold anything: beyond this number of files, only declared plugins are found.
_MOST_FILES = 2000


def loose_modules(folder: Path, entries: Sequence[Path]) -> Iterator[Path]:
    """Return those of a folder's entries that use the plugin API: modules as files, packages as folders."""
    looked_at = 0
    for entry in entries:
        files = list(islice(_files_of(entry), _MOST_FILES - looked_at + 1))
        looked_at += len(files)
        if looked_at > _MOST_FILES:
            log.warning(
                "%s holds more than %d Python files: from %s on, only plugins that declare themselves are found there",
                folder,
                _MOST_FILES,
                entry.name,
            )
            return
        if any(map(_uses_plugin_api, files)):
            yield entry


def _files_of(entry: Path) -> Iterator[Path]:
    if entry.suffix == ".py":
        if entry.is_file():
            yield entry
    elif (entry / "__init__.py").is_file():
        yield from entry.rglob("*.py")


def _uses_plugin_api(file: Path) -> bool:
    try:
        text = file.read_bytes()
    except OSError:
        return False
    if _API.encode() not in text:
        return False
    try:
        nodes = ast.walk(ast.parse(text))
    except (SyntaxError, ValueError):
        return True  # the import reports the error
    imported = chain.from_iterable(_imported(node) for node in nodes)
    return any(name == _API or name.startswith(f"{_API}.") for name in imported)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []
