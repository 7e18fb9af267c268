"""Asset keys of connectors, workers and their data in Dagster's catalogue; names that Dagster accepts.

The one place that spells them, because definitions (from configuration files) and sensors (from REST) have to
arrive at the same keys.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from dagster import AssetKey

GROUP_NAME = "connect"


def connector_key(cluster: str, connector: str) -> AssetKey:
    """Return the key of a connector."""
    return AssetKey(["connect", cluster, connector])


def worker_key(worker_id: str) -> AssetKey:
    """Return the key of a worker; ``worker_id`` is its name in Dagster, not its address."""
    return AssetKey(["connect", "workers", worker_id])


def group_key(group_id: str) -> AssetKey:
    """Return the key of a group of workers, by its ``group.id``."""
    return AssetKey(["connect", "groups", group_id])


def topic_key(topic: str, cluster: str | None = None) -> AssetKey:
    """Return the key of a topic; ``cluster`` is the alias of its Kafka cluster, where that has one."""
    return AssetKey(["kafka", *([cluster] if cluster else []), topic])


def table_key(system: str, path: Sequence[str]) -> AssetKey:
    """Return the key of a table, index or collection by its system and its names from the database on."""
    return AssetKey([system, *path])


def bucket_key(system: str, bucket: str, prefix: str) -> AssetKey:
    """Return the key of the objects of a bucket below a prefix."""
    return AssetKey([system, bucket, *filter(None, prefix.split("/"))])


def file_key(file: str) -> AssetKey:
    """Return the key of a file by its absolute path; relative ones start from the working directory."""
    return AssetKey(["file", *Path(file).absolute().parts[1:]])


def identifier(text: str) -> str:
    """Return the text with every character replaced that is not an ASCII letter, a digit or ``_``.

    Examples:
        >>> identifier("mysql-products.v2")
        'mysql_products_v2'
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", text)
