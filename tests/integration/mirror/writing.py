"""Numbered records that are written to a topic without a pause, and what must become of them on another cluster."""

import itertools
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import Producer

from connect_dagster.connectors.mirror.records import OffsetSync
from tests.integration.mirror.clusters import SECONDS, Cluster, Record


class Writer:
    """Writes records, each with its number as value; a context manager that ends with all of them written.

    Args:
        cluster: where.
        topic: to which; all of its partitions in turn.
        rate: records a second.
    """

    def __init__(self, cluster: Cluster, topic: str, rate: int = 200) -> None:
        self._producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True})
        self._topic = topic
        self._partitions = cluster.partitions(topic)
        self._pause = 1 / rate
        self._ending = threading.Event()
        self._failed: list[object] = []
        self._thread = threading.Thread(target=self._write, daemon=True)
        self.count = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._thread.join()
        left = self._producer.flush(SECONDS)
        if error is None:
            assert not left
            assert not self._failed

    def _write(self) -> None:
        for number in itertools.count():
            if self._ending.is_set():
                return
            self._producer.produce(
                self._topic,
                str(number).encode(),
                partition=number % self._partitions,
                on_delivery=lambda error, _: self._failed.append(error) if error else None,
            )
            self._producer.poll(0)
            self.count = number + 1
            time.sleep(self._pause)


def check_copy(source: Cluster, topic: str, target: Cluster, remote: str) -> int:
    """Check that the target has each record of the source, those of a partition in order; some may be repeated.

    Returns:
        The number of those that are repeated.
    """
    repeated = 0
    for number, written in source.read_all(topic).items():
        copies = _read_until(target, remote, number, written[-1])
        firsts = list(dict.fromkeys(one.value for one in copies))
        wanted = [one.value for one in written]
        assert firsts == wanted, f"partition {number}: {_first_difference(firsts, wanted)}"
        repeated += len(copies) - len(written)
    return repeated


def _first_difference(found: Sequence[bytes | None], wanted: Sequence[bytes | None]) -> str:
    at = next((at for at, (one, other) in enumerate(zip(found, wanted, strict=False)) if one != other), None)
    if at is None:
        return f"{len(found)} records, not {len(wanted)}"
    return f"from record {at} on there are {found[at : at + 5]}, not {wanted[at : at + 5]}"


def _read_until(cluster: Cluster, topic: str, partition: int, last: Record) -> Sequence[Record]:
    deadline = time.monotonic() + 2 * SECONDS  # a process may have to start, on a machine that others use
    while True:
        found = cluster.read_all(topic)[partition]
        if any(one.value == last.value for one in found):
            return found
        assert time.monotonic() < deadline, f"{topic}-{partition} has {len(found)} records, and not the last one"
        time.sleep(0.5)


def check_syncs(
    source: Cluster, topic: str, target: Cluster, remote: str, syncs: str, *, at: Cluster | None = None
) -> int:
    """Check that each offset sync is a pair of offsets of one record; return the number of syncs.

    The topic of syncs is on the source, or on the cluster `at`.
    """
    place = at or source
    written, copies = source.read_all(topic), target.read_all(remote)
    of_source = {number: {one.offset: one.content for one in found} for number, found in written.items()}
    of_target = {number: {one.offset: one.content for one in found} for number, found in copies.items()}
    pairs = [
        sync
        for one in place.read_all(syncs)[0]
        if (sync := OffsetSync.decode(one.key, one.value)) is not None and sync.topic_partition.topic == topic
    ]
    for sync in pairs:
        number = sync.topic_partition.partition
        assert of_source[number][sync.upstream_offset] == of_target[number][sync.downstream_offset], sync
    return len(pairs)
