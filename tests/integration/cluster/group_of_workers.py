"""What tests ask of a group of workers: what runs where, as any worker's REST API tells, and what the topics hold."""

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from confluent_kafka import Consumer, Message, TopicPartition

from connect_dagster.kafka.groups import live_group
from connect_dagster.protocol.group_structs import Assignment
from tests.distributed_process import DistributedProcess
from tests.integration.topics import end_of
from tests.rest_calls import Answer, call

POLL_SECONDS = 0.05
SETTLE_SECONDS = 60.0
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"


@dataclass(frozen=True, slots=True)
class Running:
    """Workers' ids (``host:port``) by what is RUNNING there: connectors by name, tasks as ``name-0``."""

    connectors: Mapping[str, str]
    tasks: Mapping[str, str]

    @property
    def load(self) -> dict[str, tuple[int, int]]:
        """How many connectors and tasks each worker runs."""
        connectors, tasks = Counter(self.connectors.values()), Counter(self.tasks.values())
        return {worker: (connectors[worker], tasks[worker]) for worker in connectors | tasks}


def leader_url(bootstrap_servers: str, group_id: str) -> str | None:
    """REST URL of a group's leader, as the coordinator's assignments tell; ``None`` while the group forms."""
    told = [member.assignment for member in live_group(bootstrap_servers, group_id).members if member.assignment]
    return Assignment.decode(told[0]).leader_url.rstrip("/") if told else None


def worker_id(rest_url: str) -> str:
    """The id under which a worker reports."""
    return rest_url.partition("://")[2]


def running(rest_url: str) -> Running | None:
    """Return the workers of connectors and tasks by one status request; ``None`` unless all are RUNNING."""
    try:
        answer = call(rest_url, "GET", "/connectors?expand=status")
    except OSError:
        return None
    if answer.status != 200:
        return None
    connectors: dict[str, str] = {}
    tasks: dict[str, str] = {}
    for name, entry in answer.json.items():
        status = entry["status"]
        parts = [status["connector"], *status["tasks"]]
        if any(part["state"] != "RUNNING" for part in parts):
            return None
        connectors[name] = status["connector"]["worker_id"]
        tasks |= {f"{name}-{task['id']}": task["worker_id"] for task in status["tasks"]}
    return Running(connectors, tasks)


def await_true(condition: Callable[[], bool], aim: Callable[[], object], seconds: float = SETTLE_SECONDS) -> None:
    """Wait for a condition.

    Raises:
        AssertionError: it took longer than `seconds`; tells what `aim` answers then.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {aim()}"
        time.sleep(POLL_SECONDS)


def await_running(
    rest_urls: Sequence[str],
    connectors: Collection[str],
    tasks: Collection[str],
    workers: Collection[str],
    seconds: float = SETTLE_SECONDS,
) -> Running:
    """Wait until all workers that are asked say the same: all of this, and nothing else, runs on all of `workers`.

    Args:
        rest_urls: of the workers that are asked.
        connectors: names.
        tasks: as ``name-0``.
        workers: REST URLs of those that run something.
        seconds: the longest time to wait.
    """
    ids = {worker_id(url) for url in workers}

    def settled(told: Running) -> bool:
        return (
            told.connectors.keys() == set(connectors)
            and told.tasks.keys() == set(tasks)
            and {*told.connectors.values(), *told.tasks.values()} == ids
        )

    agreed: list[Running] = []

    def agree() -> bool:
        views = [running(url) for url in rest_urls]
        first = views[0]
        if first is None or not settled(first) or any(view != first for view in views):
            return False
        agreed.append(first)
        return True

    await_true(agree, lambda: {url: statuses(url) for url in rest_urls}, seconds)
    return agreed[-1]


def statuses(rest_url: str) -> dict[str, str]:
    """All states with their workers, short, for messages."""
    try:
        answer = call(rest_url, "GET", "/connectors?expand=status")
    except OSError as error:
        return {"": str(error)}
    if answer.status != 200:
        return {"": answer.body.decode()}
    return {
        name: ", ".join(
            f"{part['state']} {part['worker_id']}" for part in (entry["status"]["connector"], *entry["status"]["tasks"])
        )
        for name, entry in answer.json.items()
        if "status" in entry
    }


def states_of(rest_url: str, name: str) -> list[str]:
    """States of a connector and its tasks, as one worker says; empty while there are none."""
    answer = settled_call(rest_url, "GET", f"/connectors/{name}/status")
    if answer.status != 200:
        return []
    return [part["state"] for part in (answer.json["connector"], *answer.json["tasks"])]


def put(rest_url: str, name: str, config: Mapping[str, str]) -> Answer:
    """Create or reconfigure a connector; again while the group forms, as clients of Kafka Connect do."""
    return settled_call(rest_url, "PUT", f"/connectors/{name}/config", dict(config))


def settled_call(rest_url: str, method: str, target: str, body: Any = None) -> Answer:
    """A call that is made again while the answer is 409, which says that the group forms."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (answer := call(rest_url, method, target, body)).status == 409 and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return answer


class Pair:
    """Two workers of ours in one group; a context manager that starts both and stops them.

    Args:
        props: what they share, see `group_properties`.
        folder: for their files.
    """

    def __init__(self, props: Mapping[str, str], folder: Path) -> None:
        self.bootstrap_servers = props["bootstrap.servers"]
        self.group_id = props["group.id"]
        self.workers = [DistributedProcess(props, folder / name) for name in ("first", "second")]
        self._entered = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as entered:
            for worker in self.workers:
                worker.start()
                entered.callback(worker.stop)
            for worker in self.workers:
                worker.wait_ready()
            self._entered = entered.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._entered.close()

    @property
    def urls(self) -> list[str]:
        """REST URLs of both."""
        return [worker.rest_url for worker in self.workers]

    def leader_and_follower(self) -> tuple[DistributedProcess, DistributedProcess]:
        """Who leads, and the other one."""
        await_true(lambda: self._leader_url() in self.urls, self._leader_url)
        first, second = self.workers
        return (first, second) if self._leader_url() == first.rest_url else (second, first)

    def await_running(
        self, files: "LineFiles", *workers: DistributedProcess, seconds: float = SETTLE_SECONDS
    ) -> Running:
        """Wait until these workers, by default both, have the sources of `files` and nothing else."""
        urls = [worker.rest_url for worker in workers or self.workers]
        return await_running(urls, files.names, files.tasks, urls, seconds)

    def create(self, files: "LineFiles") -> None:
        """Create the sources, and wait until they run on both."""
        files.grow()
        for number, name in enumerate(files.names):
            assert put(self.urls[number % 2], name, files.config(name)).status == 201
        self.await_running(files)

    def delete_all(self) -> None:
        """Delete all connectors, and wait until they are gone."""
        delete_all(self.urls[0])

    def _leader_url(self) -> str | None:
        return leader_url(self.bootstrap_servers, self.group_id)


def delete_all(rest_url: str) -> None:
    """Delete all connectors of a group, at once, and wait until they are gone."""
    names = settled_call(rest_url, "GET", "/connectors").json
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda name: settled_call(rest_url, "DELETE", f"/connectors/{name}"), names))
    assert all(answer.status == 204 for answer in answers), answers
    await_true(lambda: statuses(rest_url) == {}, lambda: statuses(rest_url))


class LineFiles:
    """Files that file sources read, one for each, all into one topic; each line is unique.

    Args:
        folder: for the files.
        prefix: of the connectors' names and the topic.
        count: of connectors.
    """

    def __init__(self, folder: Path, prefix: str, count: int) -> None:
        self.topic = f"{prefix}lines"
        self.names = [f"{prefix}source-{number:02d}" for number in range(count)]
        self.tasks = [f"{name}-0" for name in self.names]
        self._folder = folder
        self._written: list[str] = []

    @property
    def lines(self) -> list[str]:
        """All lines up to now."""
        return list(self._written)

    def config(self, name: str, **more: str) -> dict[str, str]:
        """The configuration of one connector."""
        return {
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "file": str(self._file(name)),
            "topic": self.topic,
            "tasks.max": "1",
            "key.converter": STRING_CONVERTER,
            "value.converter": STRING_CONVERTER,
            **more,
        }

    def grow(self, lines: int = 3) -> list[str]:
        """Append lines to each file; answers them."""
        added = []
        for name in self.names:
            written = len(self._written)
            fresh = [f"{name} line {written + number}" for number in range(lines)]
            with self._file(name).open("a") as file:
                file.writelines(f"{line}\n" for line in fresh)
            self._written += fresh
            added += fresh
        return added

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.txt"


class TopicReader:
    """Reads all records of a topic from its beginning on; a context manager.

    Args:
        bootstrap_servers: of the cluster.
        topic: the topic, which may not exist yet.
    """

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self.topic = topic
        self.records: list[Message] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "unused",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 500,
                # What is asked meanwhile waits behind a fetch.
                "fetch.wait.max.ms": 20,
            }
        )
        self._assigned: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    @property
    def values(self) -> list[str]:
        """Values of what was read, as text."""
        return [as_text(record.value()) for record in self.records]

    def read_to_end(self) -> list[Message]:
        """Read up to where the topic ends now; answers all that was ever read."""
        ends = {number: self._end(number) for number in self._partitions()}
        deadline = time.monotonic() + SETTLE_SECONDS
        while any(self._position(number) < end for number, end in ends.items()):
            self._take(0.2)
            assert time.monotonic() < deadline, f"{self.topic} was not read up to {ends}"
        return self.records

    def await_values(self, expected: Collection[str], seconds: float = SETTLE_SECONDS) -> None:
        """Wait until all these values were read."""
        missing, seen = set(expected) - set(self.values), len(self.records)
        deadline = time.monotonic() + seconds
        while missing:
            assert time.monotonic() < deadline, f"{self.topic} lacks {len(missing)} values: {sorted(missing)[:5]}"
            self._partitions()
            self._take(0.1)
            missing -= set(self.values[seen:])
            seen = len(self.records)

    def _partitions(self) -> set[int]:
        found = self._consumer.list_topics(self.topic, timeout=20).topics[self.topic].partitions
        for number in sorted(found.keys() - self._assigned):
            self._consumer.incremental_assign([TopicPartition(self.topic, number, 0)])
            self._assigned.add(number)
        return self._assigned

    def _take(self, seconds: float) -> None:
        self.records += [one for one in self._consumer.consume(500, seconds) if one.error() is None]

    def _end(self, number: int) -> int:
        return end_of(self._consumer, TopicPartition(self.topic, number))

    def _position(self, number: int) -> int:
        return max(0, self._consumer.position([TopicPartition(self.topic, number)])[0].offset)


def status_reports(records: Sequence[Message]) -> Iterator[tuple[str, dict[str, Any], float]]:
    """Key, value and time (epoch seconds) of each status of a status topic."""
    for record in records:
        key, value = as_text(record.key()), record.value()
        if value is not None and key.startswith(("status-connector-", "status-task-")):
            yield key, json.loads(value), record.timestamp()[1] / 1000


def as_text(content: str | bytes | None) -> str:
    """A key or value as text."""
    return content.decode() if isinstance(content, bytes) else content or ""


@contextmanager
def took_less_than(seconds: float) -> Iterator[None]:
    """Assert that a block is quick."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert took < seconds, f"it took {took:.1f} s, not less than {seconds:g} s"
