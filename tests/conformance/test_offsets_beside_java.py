"""The offsets file in both directions: what one worker wrote, the other goes on from."""

from pathlib import Path

import pytest

from tests.conformance.java_connect import JavaStandalone
from tests.conftest import Broker
from tests.integration import topics
from tests.integration.worker_process import WorkerProcess, write_properties

# `make test` compares the file with those of Java's worker, recorded, in tests/unit/java/test_hash_map_file.py.
pytestmark = pytest.mark.nightly

STRING = "org.apache.kafka.connect.storage.StringConverter"
ASCII = "first message\nseconde line\n"
KOREAN = "first message\nseconde line\n세번째 메시지\n"


class Setting:
    """One file, one topic, one offsets file, for both workers in turn."""

    def __init__(self, broker: Broker, topic: str, folder: Path) -> None:
        self.broker, self.topic, self.folder = broker, topic, folder
        self.file, self.offsets = folder / "test.txt", folder / "connect.offsets"
        self.connector = {
            "name": "local-file-source",
            "connector.class": "FileStreamSource",
            "tasks.max": "1",
            "file": str(self.file),
            "topic": topic,
        }
        self.props = {
            "bootstrap.servers": broker.bootstrap_servers,
            "key.converter": STRING,
            "value.converter": STRING,
            "offset.storage.file.filename": str(self.offsets),
            "offset.flush.interval.ms": "500",
        }

    def java(self) -> JavaStandalone:
        return JavaStandalone(self.props, [self.connector], self.folder / "java")

    def ours(self) -> WorkerProcess:
        file = write_properties(self.folder / "local-file-source.properties", self.connector)
        return WorkerProcess(self.props, [file], self.folder / "ours")

    def append(self, text: str) -> None:
        with self.file.open("a") as out:
            out.write(text)

    def values(self, count: int) -> list[str]:
        found = topics.values(self.broker.bootstrap_servers, self.topic, count)
        assert topics.size(self.broker.bootstrap_servers, self.topic) == count
        return found

    def wait_position(self, worker: WorkerProcess, position: int) -> None:
        wanted = [{"partition": {"filename": str(self.file)}, "offset": {"position": position}}]
        url = "/connectors/local-file-source/offsets"
        worker.wait_until(lambda: worker.call("GET", url).json["offsets"] == wanted, f"commit {position}", 60)


@pytest.fixture
def setting(broker: Broker, topic_prefix: str, tmp_path: Path) -> Setting:
    return Setting(broker, f"{topic_prefix}t", tmp_path)


def test_s1_12_java_goes_on_from_our_offsets(setting: Setting) -> None:
    setting.append(ASCII)
    with setting.ours() as worker:
        setting.wait_position(worker, len(ASCII))
    content = setting.offsets.read_bytes()
    assert content.startswith(bytes.fromhex("ac ed 00 05 73 72 00 11") + b"java.util.HashMap")
    assert f'["local-file-source",{{"filename":"{setting.file}"}}]'.encode() in content
    assert b'{"position":27}' in content
    with setting.java():
        setting.append("third\n")
        assert setting.values(3) == [*ASCII.splitlines(), "third"]


def test_s1_12_we_go_on_from_javas_offsets(setting: Setting) -> None:
    setting.append(ASCII)
    with setting.java():
        assert setting.values(2) == ASCII.splitlines()
    setting.append("third\n")
    with setting.ours() as worker:
        setting.wait_position(worker, len(ASCII) + 6)
        assert setting.values(3) == [*ASCII.splitlines(), "third"]
        assert "counts characters" not in worker.log()


def test_s1_11_an_offset_of_java_that_counts_characters(setting: Setting) -> None:
    setting.append(KOREAN)
    with setting.java():
        assert setting.values(3) == KOREAN.splitlines()
    assert b'{"position":35}' in setting.offsets.read_bytes()
    setting.append("fourth\n")
    with setting.ours() as worker:
        setting.wait_position(worker, 54)
        assert setting.values(4) == [*KOREAN.splitlines(), "fourth"]
        warnings = [line for line in worker.log().splitlines() if "counts characters" in line]
        (warning,) = warnings
        assert "] WARN [local-file-source|task-0] " in warning
        assert f"Offset 35 of file {setting.file} " in warning
        assert "byte 47 " in warning
