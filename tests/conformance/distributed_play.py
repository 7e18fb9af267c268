"""Two workers of one cluster each, one of Java's and one of ours, and the calls played to both."""

import base64
import hmac
import json
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from tests.conformance.java_cluster import JavaDistributed
from tests.conformance.rest_play import Side
from tests.conformance.topic_records import records
from tests.distributed_process import DistributedProcess, group_properties
from tests.rest_calls import Answer

S = TypeVar("S")
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
def clusters(bootstrap_servers: str, folder: Path, **more: str) -> Iterator[tuple[Cluster, Cluster]]:
    """Java's and ours, in this order; they end with the context.

    Args:
        bootstrap_servers: the broker both use.
        folder: for their files.
        more: properties of both workers, see `group_properties`.
    """
    prefixes = [f"{name}-{uuid.uuid4().hex[:8]}-" for name in ("java", "ours")]
    java_props, our_props = (
        group_properties(bootstrap_servers, prefix, offset_flush_interval_ms="500", **more) for prefix in prefixes
    )
    with (
        DistributedProcess(our_props, folder / "ours") as ours,
        JavaDistributed(java_props, folder / "java") as java,
    ):
        yield _cluster(java, prefixes[0], folder / "java"), _cluster(ours, prefixes[1], folder / "ours")


def at_once(play: Callable[[S], T], sides: tuple[S, S]) -> tuple[T, T]:
    """Play to both sides at the same time; Java's first in the answer."""
    with ThreadPoolExecutor(2) as pool:
        java, ours = pool.map(play, sides)
    return java, ours


def _cluster(worker: Worker, prefix: str, folder: Path) -> Cluster:
    source = folder / "source.txt"
    source.write_text(LINES)
    names = {
        "source": str(source),
        "sink": str(folder / "sink.txt"),
        "topic": f"{prefix}t",
        "group": worker.props["group.id"],
        "prefix": prefix,
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
