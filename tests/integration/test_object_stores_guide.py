"""The guide to files: its first sink writes the files that the guide lists."""

import re
from pathlib import Path

import pytest

from tests.conftest import Broker
from tests.guides import replaced
from tests.integration.sink.kafka_topics import Topics
from tests.integration.worker_process import WorkerProcess

TEXT = (Path(__file__).parents[2] / "docs" / "object_stores.md").read_text(encoding="utf-8")
SETTINGS = re.findall(r"```properties\n(.*?)```", TEXT, re.DOTALL)[0]
(LISTED,) = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.nightly
@pytest.mark.timeout(400)
def test_first_files(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    topics, topic = Topics(broker.bootstrap_servers), f"{topic_prefix}orders"
    topics.create(topic)
    places = {"/tmp/stores": str(tmp_path / "stores"), "orders": topic}
    connector = tmp_path / "sink.properties"
    connector.write_text(replaced(SETTINGS, places), encoding="utf-8")
    topics.write(topic, "1234567")
    props = {"bootstrap.servers": broker.bootstrap_servers, "consumer.auto.offset.reset": "earliest"}
    with WorkerProcess(props, [connector], tmp_path):
        topics.await_committed(f"connect-{topic}-files", topic, {0: 6}, 120)
    expected = [Path(line) for line in replaced(LISTED, places).split()]
    assert sorted(path for path in (tmp_path / "stores").rglob("*") if path.is_file()) == expected
    assert [path.read_text() for path in expected] == ['"1"\n"2"\n"3"\n', '"4"\n"5"\n"6"\n']
