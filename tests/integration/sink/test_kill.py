"""A worker that is killed while a sink writes."""

from pathlib import Path

import pytest

from connect_dagster.testing.recording_sink import read_journal
from tests.conftest import Broker
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.running_sink import RECORDING, STRING
from tests.integration.worker_process import WorkerProcess, write_properties

pytestmark = pytest.mark.nightly


def test_s1_43_a_worker_killed_inside_put_begins_with_that_batch(
    broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    topics = Topics(broker.bootstrap_servers)
    topic, name, journal = topics.create(f"{topic_prefix}t"), f"{topic_prefix}sink", tmp_path / "journal.jsonl"
    config = {"name": name, "connector.class": RECORDING, "topics": topic, "journal": str(journal)}
    config["on.put"] = f"ok; wait-for {tmp_path / 'never'}"
    props = {"bootstrap.servers": broker.bootstrap_servers, "key.converter": STRING, "value.converter": STRING}
    connector = write_properties(tmp_path / "sink.properties", config)

    def puts() -> list[list[int]]:
        calls = [call for call in read_journal(journal) if call["call"] == "put"]
        return [[record["offset"] for record in call["records"]] for call in calls]

    topics.write(topic, "abc")
    with WorkerProcess(props, [connector], tmp_path) as worker:
        topics.await_committed(f"connect-{name}", topic, {0: 3}, 60)
        topics.write(topic, "de")
        worker.wait_until(lambda: len(puts()) == 2, "put", 30)
        worker.kill()
    assert topics.committed(f"connect-{name}", topic) == {0: 3}
    topics.write(topic, "f")
    with WorkerProcess(props, [connector], tmp_path):
        topics.await_committed(f"connect-{name}", topic, {0: 6}, 90)
    assert puts()[2][0] == puts()[1][0] == 3
    assert [offset for put in puts()[2:] for offset in put] == [3, 4, 5]
