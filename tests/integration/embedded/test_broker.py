"""The embedded broker: it starts, survives, says what is wrong, and never outlives its parent."""

import logging
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer

from connect_dagster.embedded import broker
from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.errors import BrokerFailed, JavaNotFound
from connect_dagster.embedded.ports import HOST, free_port, is_free


def _produce(bootstrap_servers: str, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0})
    for value in values:
        producer.produce(topic, value.encode())
    assert producer.flush(20) == 0


def _consume(bootstrap_servers: str, topic: str, count: int) -> list[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    try:
        return [(message.value() or b"").decode() for message in consumer.consume(count, timeout=20)]
    finally:
        consumer.close()


@pytest.mark.nightly
def test_records_survive_a_clean_stop_and_a_kill(own_broker: EmbeddedBroker) -> None:
    port = own_broker.port
    _produce(own_broker.bootstrap_servers, "kept", ["one"])
    own_broker.restart()
    _produce(own_broker.bootstrap_servers, "kept", ["two"])
    own_broker.kill()
    assert own_broker.pid is None
    assert is_free(port)
    own_broker.start()
    assert own_broker.port == port
    assert _consume(own_broker.bootstrap_servers, "kept", 2) == ["one", "two"]


@pytest.mark.nightly
def test_a_paused_broker_answers_nothing_and_goes_on(own_broker: EmbeddedBroker) -> None:
    _produce(own_broker.bootstrap_servers, "paused", ["before"])
    producer = Producer({"bootstrap.servers": own_broker.bootstrap_servers, "linger.ms": 0})
    own_broker.pause()
    producer.produce("paused", b"meanwhile")
    assert producer.flush(1) == 1
    own_broker.resume()
    assert producer.flush(20) == 0
    assert _consume(own_broker.bootstrap_servers, "paused", 2) == ["before", "meanwhile"]


@pytest.mark.nightly
def test_a_paused_broker_can_be_stopped(own_broker: EmbeddedBroker) -> None:
    own_broker.pause()
    own_broker.stop()
    assert is_free(own_broker.port)


def test_a_taken_port_is_replaced_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server((HOST, free_port())) as server, caplog.at_level(logging.WARNING):
        taken = server.getsockname()[1]
        with EmbeddedBroker(tmp_path, taken, heap="512m") as broker:
            assert broker.port != taken
            assert caplog.messages == [f"port {taken} is taken; the broker listens on {broker.port} instead"]
            _produce(broker.bootstrap_servers, "elsewhere", ["one"])


@pytest.mark.nightly
def test_a_port_that_another_broker_took_meanwhile(
    own_broker: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = [True]
    monkeypatch.setattr(broker, "is_free", lambda port: bool(tries and tries.pop()))
    with EmbeddedBroker(tmp_path / "other", own_broker.port, heap="256m") as other:
        assert other.port != own_broker.port
        assert other.pid is not None
        clusters = [broker._answering_cluster(one.bootstrap_servers) for one in (own_broker, other)]
        assert None not in clusters
        assert len(set(clusters)) == 2


def test_a_broker_that_does_not_come_up_quotes_its_log(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path, 0, settings={"num.partitions": "none"}, heap="512m")
    with pytest.raises(BrokerFailed, match=r"Invalid value none for configuration num\.partitions"):
        broker.start()
    assert broker.pid is None


@pytest.mark.nightly
def test_a_data_directory_in_use_is_refused(own_broker: EmbeddedBroker) -> None:
    second = EmbeddedBroker(own_broker.data_dir, 0, heap="512m")
    with pytest.raises(BrokerFailed, match=f"another broker uses the data directory {own_broker.data_dir}"):
        second.start()
    _produce(own_broker.bootstrap_servers, "unharmed", ["one"])


def test_without_java_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaNotFound, match=r"Java 17 to 23 is needed, but java is not on PATH"):
        EmbeddedBroker(tmp_path / "data", 0).start()


def _foreground(data_dir: Path, *arguments: str) -> "subprocess.Popen[str]":
    command = [
        sys.executable,
        "-m",
        "connect_dagster.embedded.broker",
        "--data-dir",
        str(data_dir),
        *arguments,
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _jvm_below(process: "subprocess.Popen[str]") -> psutil.Process:
    (jvm,) = psutil.Process(process.pid).children()
    assert "kafka.Kafka" in jvm.cmdline()
    return jvm


def test_the_foreground_broker_stops_cleanly_at_ctrl_c(tmp_path: Path) -> None:
    process = _foreground(tmp_path, "--port", "0")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Kafka listens on 127.0.0.1:")
    jvm = _jvm_below(process)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert (process.returncode, said) == (0, "Kafka has stopped\n")
    assert not jvm.is_running()
    assert "App info kafka.server for 1 unregistered" in (tmp_path / "broker.log").read_text()


def test_the_jvm_is_gone_within_5_s_of_a_kill_of_its_parent(tmp_path: Path) -> None:
    process = _foreground(tmp_path, "--port", "0")
    assert process.stdout is not None
    process.stdout.readline()
    jvm = _jvm_below(process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 5
    while jvm.is_running() and jvm.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.02)
