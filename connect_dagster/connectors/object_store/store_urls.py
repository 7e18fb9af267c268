"""Stores by their URL."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyarrow import fs

from connect_dagster.connectors.object_store.arrow_store import ArrowStore
from connect_dagster.connectors.object_store.stores import LocalStore, Store
from connect_dagster.errors import ConfigError

_S3, _GCS = ("s3", "s3a"), "gs"
# The worker tries again: within one call, a client need not.
_RETRY_SECONDS = 10


def check_url(url: str) -> None:
    """Raise an error where a URL does not lead to a store; nothing is asked.

    Args:
        url: an absolute path, ``file:///path``, ``s3://bucket/path``, ``s3a://bucket/path`` or ``gs://bucket/path``.

    Raises:
        ConfigError: it is another one.
    """
    parts = urlsplit(url)
    is_bucket = parts.scheme in (*_S3, _GCS) and bool(parts.netloc)
    if not (is_bucket or local_path(url)):
        reason = "It must be an absolute path, or a URL file:///path, s3://bucket/path or gs://bucket/path"
        raise ConfigError.invalid("options.path", url, reason)


def local_path(url: str) -> Path | None:
    """Return the folder of a path or of a URL ``file:///path``; ``None`` for other URLs."""
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path:
        return Path(unquote(parts.path))
    return Path(url) if url.startswith("/") else None


def store_of(url: str) -> Store:
    """Return the store of a folder or URL; the credentials of buckets are those of the worker's environment.

    Args:
        url: as :func:`check_url` accepts it.

    Raises:
        ConfigError: the URL does not lead to a store.
    """
    check_url(url)
    if (folder := local_path(url)) is not None:
        return LocalStore(folder)
    parts = urlsplit(url)
    client: fs.FileSystem
    if parts.scheme in _S3:
        client = fs.S3FileSystem(allow_delayed_open=True, background_writes=False)
    else:
        client = fs.GcsFileSystem(retry_time_limit=dt.timedelta(seconds=_RETRY_SECONDS))
    return ArrowStore(client, f"{parts.netloc}{parts.path}", url.rstrip("/"))
