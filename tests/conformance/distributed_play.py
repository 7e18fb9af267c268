"""Two workers of one cluster each, one of Java's and one of ours, and the calls played to both."""

import base64
import hmac
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from confluent_kafka.admin import AdminClient

from tests.conformance.java_cluster import JavaDistributed
from tests.conformance.rest_play import Side
from tests.conformance.topic_records import records
from tests.distributed_process import DistributedProcess, group_properties
from tests.rest_calls import Answer

T = TypeVar("T")

# ASCII, because Java counts characters in a file offset where we count bytes.
LINES = "first message\nseconde line\nthird message\n"
# An answer about the background has to stay the same for this long before the next call.
SETTLED_SECONDS = 1.0


class Worker(Protocol):
    """What a script needs to know of a worker."""

    rest_url: str
    props: dict[str, str]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of one worker, with topics of its own: its properties, and how to call it."""

    props: dict[str, str]
    side: Side


@contextmanager
def our_cluster(bootstrap_servers: str, folder: Path, **more: str) -> Iterator[Cluster]:
    """Run a group of one worker of ours.

    Args:
        bootstrap_servers: The broker it uses.
        folder: For its files.
        more: Properties of the worker, see `group_properties`.
    """
    prefix, props = _props("ours", bootstrap_servers, more)
    with DistributedProcess(props, folder / "ours") as worker:
        yield _cluster(worker, prefix, folder / "ours")


@contextmanager
def java_cluster(bootstrap_servers: str, folder: Path, **more: str) -> Iterator[Cluster]:
    """Run a group of one worker of Java's; for the arguments see `our_cluster`."""
    prefix, props = _props("java", bootstrap_servers, more)
    with JavaDistributed(props, folder / "java") as worker:
        yield _cluster(worker, prefix, folder / "java")


def at_once(java: Callable[[], T], ours: Callable[[], T]) -> tuple[T, T]:
    """Play to both sides at the same time."""
    with ThreadPoolExecutor(2) as pool:
        theirs, found = pool.submit(java), ours()
        return theirs.result(), found


def cluster_id(bootstrap_servers: str) -> str:
    """Return the id that brokers give their cluster."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    return str(admin.describe_cluster().result(10).cluster_id)


def _props(name: str, bootstrap_servers: str, more: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    prefix = f"{name}-{uuid.uuid4().hex[:8]}-"
    return prefix, group_properties(bootstrap_servers, prefix, offset_flush_interval_ms="500", **more)


def _cluster(worker: Worker, prefix: str, folder: Path) -> Cluster:
    source = folder / "source.txt"
    source.write_text(LINES)
    names = {
        "source": str(source),
        "sink": str(folder / "sink.txt"),
        "topic": f"{prefix}t",
        "group": worker.props["group.id"],
        "prefix": prefix,
        "cluster": cluster_id(worker.props["bootstrap.servers"]),
        **{f"signature_of_{what}": _signature(worker, body) for what, body in (("nothing", b""), ("no_tasks", b"[]"))},
    }
    side = Side(worker.rest_url.rstrip("/"), names, _is_momentary, SETTLED_SECONDS)
    return Cluster(worker.props, side)


def _is_momentary(answer: Answer) -> bool:
    """Whether the worker asks to try again when it has read what was changed."""
    return answer.status == 409 and "stale configuration" in answer.message


def _signature(worker: Worker, body: bytes) -> str:
    config = records(worker.props["bootstrap.servers"], [worker.props["config.storage.topic"]])
    key = [json.loads(record.value or b"")["key"] for record in config if record.key == b"session-key"][-1]
    return base64.b64encode(hmac.digest(base64.b64decode(key), body, "sha256")).decode()
