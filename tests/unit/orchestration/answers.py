"""Answers of a worker, as REST gives them."""

from typing import Any

from connect_dagster.client.types import Connector, PartitionOffset

WORKER = "127.0.0.1:8083"
SOURCE = {"name": "src", "connector.class": "FileStreamSource", "file": "/tmp/in.txt", "topic": "logs"}
SINK = {"name": "snk", "connector.class": "FileStreamSink", "file": "/tmp/out.txt", "topics": "logs"}


def connector(config: dict[str, Any], state: str = "RUNNING", *tasks: str, trace: str | None = None) -> Connector:
    """A connector and its tasks in the given states; ``trace`` is the first task's."""
    states = [{"id": number, "state": task, "worker_id": WORKER} for number, task in enumerate(tasks)]
    if trace:
        states[0]["trace"] = trace
    kind = "sink" if "topics" in config else "source"
    status = {"name": config["name"], "connector": {"state": state, "worker_id": WORKER}, "tasks": states, "type": kind}
    info = {"name": config["name"], "config": config, "tasks": [], "type": kind}
    return Connector.model_validate({"status": status, "info": info})


def file_offset(position: int) -> PartitionOffset:
    """Offset of the file source."""
    return PartitionOffset(partition={"filename": "/tmp/in.txt"}, offset={"position": position})


def group_offset(partition: int, offset: int | None) -> PartitionOffset:
    """Offset of a sink's consumer group."""
    place = {"kafka_topic": "logs", "kafka_partition": partition}
    return PartitionOffset(partition=place, offset=None if offset is None else {"kafka_offset": offset})
