"""Asset keys: where connectors, workers, topics and files stand in Dagster's catalogue.

The one place that spells them, because definitions (from configuration files) and sensors (from REST) have to
arrive at the same keys.
"""

from pathlib import Path

from dagster import AssetKey


def connector_key(cluster: str, connector: str) -> AssetKey:
    """Key of a connector."""
    return AssetKey(["connect", cluster, connector])


def worker_key(worker_id: str) -> AssetKey:
    """Key of a worker; ``worker_id`` is the name Dagster gives it, not its address."""
    return AssetKey(["connect", "workers", worker_id])


def topic_key(topic: str) -> AssetKey:
    """Key of a topic."""
    return AssetKey(["kafka", topic])


def file_key(file: str) -> AssetKey:
    """Key of a file by its absolute path, relative ones from the working directory."""
    return AssetKey(["file", *Path(file).absolute().parts[1:]])
