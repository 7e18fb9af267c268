"""Stores by their URL."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from connect_dagster.connectors.object_store.stores import LocalStore, Store
from connect_dagster.errors import ConfigError


def store_of(url: str) -> Store:
    """Return the store of a folder or URL.

    Args:
        url: an absolute path, or ``file:///path``.

    Raises:
        ConfigError: the URL does not lead to a store.
    """
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        return LocalStore(Path(unquote(parts.path)))
    if url.startswith("/"):
        return LocalStore(Path(url))
    raise ConfigError.invalid("options.path", url, "It must be an absolute path, or a URL file:///path")
