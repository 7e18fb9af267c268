"""The topics of a group, deleted under its workers: nobody waits for them, work goes on, and the loss is logged."""

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.kafka.groups import recorded_group
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.answer_times import AnswerTimes
from tests.integration.cluster.group_of_workers import LineFiles, Pair, TopicReader, await_true, put
from tests.rest_calls import Answer

pytestmark = pytest.mark.nightly

GROUP = {
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "2000",
    "offset_flush_interval_ms": "300",
    # The leader writes a new key again and again.
    "inter_worker_key_ttl_ms": "3000",
}
KINDS = ("config", "offset", "status")
# Longer than a session, and than a key lives.
AWAY_SECONDS = 10.0
LONGEST_SECONDS = 1.0
# Two for the brokers' denials to count, and one for each request before.
REFUSAL_SECONDS = 10.0
NOTICE_SECONDS = 30.0
MOST_ENTRIES = 20
GONE = "Topic '{}' does not exist any more on the brokers: somebody has deleted it."
REFUSED = "Topic '{}' does not exist any more on the brokers, so that it can neither be read nor written."
LOST = "Topic '{}' was deleted and created again: the records that it had are lost."


class Topics:
    """The topics of a group on one broker."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})

    def delete(self, *names: str) -> None:
        """Delete topics; returns when brokers refuse to write them, which is some time after the deletion."""
        for done in self._admin.delete_topics(list(names)).values():
            done.result(30)
        while set(names) & self._admin.list_topics(timeout=30).topics.keys():
            time.sleep(0.02)
        time.sleep(0.2)

    def create(self, name: str, partitions: int = 1, policy: str = "compact") -> None:
        topic = NewTopic(name, partitions, 1, config={"cleanup.policy": policy})
        self._admin.create_topics([topic])[name].result(30)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """A broker that makes no topic by itself."""
    settings = {"auto.create.topics.enable": "false"}
    with EmbeddedBroker(tmp_path_factory.mktemp("broker"), 0, heap="512m", settings=settings) as broker:
        yield broker


def test_a_deleted_config_topic_blocks_nobody(strict: EmbeddedBroker, tmp_path: Path) -> None:
    """At fa6cb2e the leader left the group with the next session key, and its work stopped."""
    props = group_properties(strict.bootstrap_servers, "strict-", **GROUP)
    topics, topic, files = Topics(strict.bootstrap_servers), props["config.storage.topic"], LineFiles(tmp_path, "s-", 4)
    topics.create(files.topic, policy="delete")
    with Pair(props, tmp_path / "workers") as pair, TopicReader(strict.bootstrap_servers, files.topic) as reader:
        pair.create(files)
        members = recorded_group(strict.bootstrap_servers, props["group.id"])
        logged = [len(worker.log()) for worker in pair.workers]
        with _asking(pair) as asked:
            topics.delete(topic)
            deleted_at = time.monotonic()
            refused = _changed_at_once(pair, files)
            files.grow()
            reader.await_values(files.lines)
            time.sleep(max(0.0, deleted_at + AWAY_SECONDS - time.monotonic()))
        for times in asked:
            _tell(f"{times.url}{times.target}: {times}")
            times.check(LONGEST_SECONDS)
        _tell(f"refused after {', '.join(f'{seconds:.1f} s' for _, seconds in refused)}")
        for answer, seconds in refused:
            assert answer.status == 500, answer
            assert answer.message.startswith(REFUSED.format(topic)), answer
            assert seconds < REFUSAL_SECONDS
        assert recorded_group(strict.bootstrap_servers, props["group.id"]) == members, "the group has rebalanced"
        pair.await_running(files)
        assert [worker.call("GET", "/health").status for worker in pair.workers] == [200, 200]
        for worker, start in zip(pair.workers, logged, strict=True):
            told = _without_rest(worker.log()[start:])
            _tell(f"{len(told)} entries of the log")
            assert sum(GONE.format(topic) in line for line in told) == 1, told
            assert len(told) < MOST_ENTRIES, told
            assert not [line for line in told if " ERROR " in line], told
        topics.create(topic)
        created_at = time.monotonic()
        await_true(lambda: all(LOST.format(topic) in worker.log() for worker in pair.workers), lambda: "both notice")
        _tell(f"noticed after {time.monotonic() - created_at:.1f} s")
        fresh = files.config(files.names[0], file=str(tmp_path / "fresh.txt"))
        assert put(pair.urls[0], "fresh", fresh).status == 201
        for worker in pair.workers:
            await_true(lambda asked=worker: "fresh" in asked.call("GET", "/connectors").json, worker.log)  # type: ignore[misc]
        assert put(pair.urls[1], "fresh", {**fresh, "tasks.max": "2"}).status == 200
        files.grow()
        reader.await_values(files.lines)
        assert [worker.log().count(LOST.format(topic)) for worker in pair.workers] == [1, 1]


def test_a_config_topic_that_the_brokers_create_again_is_reported(tmp_path: Path) -> None:
    """Brokers create a topic with the next request for it, as far as they may: empty, and not compacted."""
    with EmbeddedBroker(tmp_path / "broker", 0, heap="512m") as broker:
        props, topics = group_properties(broker.bootstrap_servers, "auto-", **GROUP), Topics(broker.bootstrap_servers)
        topic, files = props["config.storage.topic"], LineFiles(tmp_path, "auto-", 1)
        files.grow()
        with (
            DistributedProcess(props, tmp_path / "worker") as worker,
            TopicReader(broker.bootstrap_servers, files.topic) as reader,
        ):
            assert put(worker.rest_url, files.names[0], files.config(files.names[0])).status == 201
            worker.wait_states(files.names[0], "RUNNING", "RUNNING")
            generation = recorded_group(broker.bootstrap_servers, props["group.id"]).generation
            with AnswerTimes(worker.rest_url) as root, AnswerTimes(worker.rest_url, "/connectors") as listed:
                topics.delete(topic)
                worker.wait_log(LOST.format(topic), NOTICE_SECONDS)
                worker.wait_log(f"Topic '{topic}' has cleanup.policy=delete now, not compact", 10)
                files.grow()
                reader.await_values(files.lines)
                paused = worker.call("PUT", f"/connectors/{files.names[0]}/pause")
                assert paused.status == 202, paused
                worker.wait_states(files.names[0], "PAUSED", "PAUSED")
            for times in (root, listed):
                _tell(f"{times.target}: {times}")
                times.check(LONGEST_SECONDS)
            assert worker.log().count(LOST.format(topic)) == 1
            assert recorded_group(broker.bootstrap_servers, props["group.id"]).generation == generation


def test_deleted_topics_of_offsets_and_statuses_stop_no_task(strict: EmbeddedBroker, tmp_path: Path) -> None:
    props, topics = group_properties(strict.bootstrap_servers, "both-", **GROUP), Topics(strict.bootstrap_servers)
    offsets, statuses = (props[f"{kind}.storage.topic"] for kind in ("offset", "status"))
    files = LineFiles(tmp_path, "both-", 1)
    topics.create(files.topic, policy="delete")
    files.grow()
    (name,) = files.names
    with (
        DistributedProcess(props, tmp_path / "worker") as worker,
        TopicReader(strict.bootstrap_servers, files.topic) as reader,
    ):
        assert put(worker.rest_url, name, files.config(name)).status == 201
        worker.wait_states(name, "RUNNING", "RUNNING")
        reader.await_values(files.lines)
        members = recorded_group(strict.bootstrap_servers, props["group.id"])
        logged = len(worker.log())
        with AnswerTimes(worker.rest_url) as root, AnswerTimes(worker.rest_url, f"/connectors/{name}/status") as states:
            topics.delete(offsets, statuses)
            deleted_at = time.monotonic()
            files.grow()
            reader.await_values(files.lines)
            refused = worker.call("GET", f"/connectors/{name}/offsets")
            assert refused.status == 500
            assert refused.message.startswith(REFUSED.format(offsets)), refused
            time.sleep(max(0.0, deleted_at + AWAY_SECONDS - time.monotonic()))
        for times in (root, states):
            _tell(f"{times.target}: {times}")
            times.check(LONGEST_SECONDS)
        assert recorded_group(strict.bootstrap_servers, props["group.id"]) == members
        worker.wait_states(name, "RUNNING", "RUNNING")
        for topic in (offsets, statuses):
            worker.wait_log(GONE.format(topic), NOTICE_SECONDS)
        told = _without_rest(worker.log()[logged:])
        # Each attempt to commit fails, every 0.3 s here and every minute by default.
        others = [line for line in told if "Failed to commit offsets" not in line and "Session key updated" not in line]
        _tell(f"{len(told)} entries of the log, {len(others)} of them not about commits")
        assert len(others) < MOST_ENTRIES, others
        # With fewer partitions than before.
        topics.create(offsets, 2)
        topics.create(statuses, 2)
        for topic in (offsets, statuses):
            worker.wait_log(LOST.format(topic), NOTICE_SECONDS)
        files.grow()
        reader.await_values(files.lines)
        size = (tmp_path / f"{name}.txt").stat().st_size
        await_true(lambda: _position(worker, name) == size, lambda: worker.call("GET", f"/connectors/{name}/offsets"))
        assert worker.call("PUT", f"/connectors/{name}/pause").status == 202
        worker.wait_states(name, "PAUSED", "PAUSED")


def _position(worker: DistributedProcess, name: str) -> int | None:
    answer = worker.call("GET", f"/connectors/{name}/offsets")
    found = answer.json["offsets"] if answer.status == 200 else []
    return int(found[0]["offset"]["position"]) if found else None


def _asking(pair: Pair) -> "_Asking":
    return _Asking([AnswerTimes(url, target) for url in pair.urls for target in ("/", "/connectors")])


class _Asking:
    """Several requests, asked again and again."""

    def __init__(self, asked: list[AnswerTimes]) -> None:
        self._asked = asked
        self._entered = ExitStack()

    def __enter__(self) -> list[AnswerTimes]:
        return [self._entered.enter_context(each) for each in self._asked]

    def __exit__(self, *_: object) -> None:
        self._entered.close()


def _changed_at_once(pair: Pair, files: LineFiles) -> list[tuple[Answer, float]]:
    """Ask both workers for changes, at once; return the answers with their seconds."""

    def change(worker: DistributedProcess, method: str, target: str, body: object) -> tuple[Answer, float]:
        began = time.monotonic()
        return worker.call(method, target, body), time.monotonic() - began

    name, config = files.names[0], files.config(files.names[0])
    with ThreadPoolExecutor(8) as pool:
        coming = [
            pool.submit(change, worker, *request)
            for worker in pair.workers
            for request in (
                ("PUT", "/connectors/new/config", config),
                ("PUT", f"/connectors/{name}/config", config),
                ("PUT", f"/connectors/{name}/stop", None),
                ("PUT", f"/connectors/{name}/pause", None),
            )
        ]
        return [each.result() for each in coming]


def _without_rest(log: str) -> list[str]:
    """First lines of a log's entries, but those of the REST API about requests."""
    entries = (line for line in log.splitlines() if line.startswith("["))
    return [line for line in entries if "connect_dagster.rest." not in line and "Error forwarding REST" not in line]


def _tell(text: str) -> None:
    sys.stdout.write(f"\n{text}\n")
