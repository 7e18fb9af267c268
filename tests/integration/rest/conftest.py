"""One worker for the tests of a module, with the source of the first article."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.conftest import Broker
from tests.integration.worker_process import WorkerProcess, write_properties

NAME = "local-file-source"
TEXT = "first message\nseconde line\n세번째 메시지\n"


@dataclass(frozen=True, slots=True)
class SeedWorker:
    """A worker that runs `local-file-source`."""

    process: WorkerProcess
    broker: Broker
    topic: str
    file: Path

    def end_offset(self) -> int:
        """How many records the topic has had."""
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap_servers, "group.id": self.topic})
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(self.topic, 0), timeout=20)[1])
        finally:
            consumer.close()


@pytest.fixture(scope="module")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeedWorker]:
    workdir = tmp_path_factory.mktemp("rest-worker")
    topic, file = f"connect-test-{uuid4().hex[:8]}", workdir / "test.txt"
    file.write_text(TEXT)
    source = {"name": NAME, "connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": topic}
    connector = write_properties(workdir / "local-file-source.properties", source)
    with WorkerProcess({"bootstrap.servers": broker.bootstrap_servers}, [connector], workdir) as process:
        process.wait_states(NAME, "RUNNING", "RUNNING")
        yield SeedWorker(process, broker, topic, file)
