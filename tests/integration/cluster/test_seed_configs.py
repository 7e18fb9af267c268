"""Records of the config topic that another worker has written: what the REST API shows of them."""

import json
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.cluster.group_of_workers import await_true
from tests.unit.protocol.kcat_records import RECORDS

CONNECTOR = "mysql_cdc_ops_source_avro_01"
TASKS = f"/connectors/{CONNECTOR}/tasks"


def test_s2_09_tasks_are_shown_with_their_commit(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    props = group_properties(broker.bootstrap_servers, topic_prefix, missing_plugins="join")
    topic = NewTopic(props["config.storage.topic"], 1, 1, config={"cleanup.policy": "compact"})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([topic])[topic.topic].result(30)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

    def write(key: str, value: str) -> None:
        producer.produce(topic.topic, value, key)
        assert producer.flush(30) == 0

    task = next(one for one in RECORDS if one["topic"] == "connect-configs")
    properties = {"name": CONNECTOR, "connector.class": "org.example.ConnectorOfAnotherWorker"}
    write(f"connector-{CONNECTOR}", json.dumps({"properties": properties}))
    write(task["key"], task["payload"])
    with DistributedProcess(props, tmp_path) as worker:
        assert worker.call("GET", "/connectors").json == [CONNECTOR]
        assert (worker.call("GET", TASKS).status, worker.call("GET", TASKS).json) == (200, [])
        write(f"commit-{CONNECTOR}", json.dumps({"tasks": 1}))
        await_true(lambda: bool(worker.call("GET", TASKS).json), worker.log)
        (shown,) = worker.call("GET", TASKS).json
    assert shown["id"] == {"connector": CONNECTOR, "task": 0}
    assert len(shown["config"]) == 26
    assert shown["config"]["transforms.rename_topic.regex"] == r"(.*)\.(.*)\.(.*)"
