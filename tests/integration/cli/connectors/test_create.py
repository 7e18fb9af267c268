"""`connect-dagster create` in a shell, at our worker and at Java's: the file that it writes moves lines."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.conformance.java_connect import JavaStandalone
from tests.conftest import Broker
from tests.integration.worker_process import WorkerProcess
from tests.shipped_project import wait_until

COMMAND = Path(sys.executable).with_name("connect-dagster")
Serve = Callable[[dict[str, str], Path], AbstractContextManager[str]]
_TEXT = "org.apache.kafka.connect.storage.StringConverter"


@contextmanager
def java_worker(props: dict[str, str], folder: Path) -> Iterator[str]:
    with JavaStandalone(props, [], folder) as java:
        yield java.rest_url


@contextmanager
def our_worker(props: dict[str, str], folder: Path) -> Iterator[str]:
    with WorkerProcess(props, [], folder) as worker:
        yield worker.rest_url


@pytest.mark.nightly
@pytest.mark.parametrize("worker", [our_worker, java_worker])
def test_what_is_created_moves_lines(worker: Serve, broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("one\ntwo\n")
    props = {"bootstrap.servers": broker.bootstrap_servers, "key.converter": _TEXT, "value.converter": _TEXT}
    # A sink finds topics of a pattern that are there when it starts, others with the next metadata.
    topic = f"{topic_prefix}lines"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    with worker(props, tmp_path / "worker") as url:

        def run(*words: object, given: str = "") -> str:
            ran = subprocess.run(
                [COMMAND, *map(str, words)],
                env={"CONNECT_DAGSTER_REST_URL": url},
                cwd=tmp_path,
                input=given,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert ran.returncode == 0, ran.stdout + ran.stderr
            return ran.stdout

        name = f"{topic_prefix}source"
        run("create", "FileStreamSource", "--ask", "file", "-o", "in.properties", given=f"{name}\n{topic}\n{source}\n")
        # Neither topics nor a pattern: the empty answer leads from the one to the other.
        asked = run("create", "FileStreamSink", "--set", f"file={out}", "-o", "out.yaml", given=f"{name}2\n\n{topic}\n")
        assert "Must configure one of topics or topics.regex" in asked
        assert f"{name}: RUNNING, task 0 RUNNING\n" in run("apply", "in.properties", "out.yaml")
        wait_until(lambda: out.exists() and out.read_text() == "one\ntwo\n", "see the lines", 60)
        run("delete", name, f"{name}2")
