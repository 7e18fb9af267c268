"""A real Apache Kafka broker as a child process: for the demo, for development and for tests.

    with EmbeddedBroker(Path("kafka")) as broker:
        print(broker.bootstrap_servers)

It ends with this process, also when this process is killed. `python -m connect_dagster.embedded.broker` runs
one in the foreground. Clients create topics.
"""

import base64
import fcntl
import logging
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import click
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from connect_dagster.embedded.broker_config import FAST_START, Listener, jvm_options, server_properties
from connect_dagster.embedded.child_process import start_leashed
from connect_dagster.embedded.errors import BrokerFailed, EmbeddedError
from connect_dagster.embedded.jars import Progress, resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.embedded.ports import HOST, free_port, is_free, is_listening

_log = logging.getLogger(__name__)

DEFAULT_PORT = 9092
POLL_SECONDS = 0.05
WATCH_SECONDS = 0.5
QUOTED_LOG_LINES = 20
FORMAT_SECONDS = 60
CLAIM_SECONDS = 5  # the JVM of a killed process may still run
PORT_TRIES = 3


class EmbeddedBroker:
    """One Kafka node, its data directory and its port; starts and stops any number of times, from one thread.

    Args:
        data_dir: holds the data, `server.properties` and `broker.log`; created when missing, kept afterwards.
        port: for clients, on 127.0.0.1. 0 takes a free one; if it is taken, a warning names the one that is used.
        heap: the JVM's maximum, as in `-Xmx`.
        settings: broker properties, which replace the defaults.
        listeners: names and protocols of more listeners than the plain one, such as ``{"SAFE": "SASL_SSL"}``; settings
            under ``listener.name.safe.`` configure them. `bootstrap_servers_of` returns their addresses.
        jvm: more JVM options; those for a fast start by default, `()` for a broker that is to be measured.
        startup_seconds: bound for the first response of the broker.
        progress: called for each jar that has to be downloaded.
    """

    def __init__(
        self,
        data_dir: Path,
        port: int = DEFAULT_PORT,
        *,
        heap: str = "1g",
        settings: Mapping[str, str] | None = None,
        listeners: Mapping[str, str] | None = None,
        jvm: tuple[str, ...] = FAST_START,
        startup_seconds: float = 60,
        progress: Progress | None = None,
    ) -> None:
        self.data_dir = data_dir.absolute()
        self.port = port
        self._heap = heap
        self._settings = settings or {}
        self._listeners = {name: Listener(protocol, free_port()) for name, protocol in (listeners or {}).items()}
        self._jvm = jvm
        self._startup_seconds = startup_seconds
        self._progress = progress
        self._process: subprocess.Popen[bytes] | None = None
        self._log_began = 0

    @property
    def bootstrap_servers(self) -> str:
        """Return `bootstrap.servers` for clients; fixed once the broker was started."""
        return f"{HOST}:{self.port}"

    def bootstrap_servers_of(self, listener: str) -> str:
        """Return `bootstrap.servers` for clients of one of `listeners`."""
        return f"{HOST}:{self._listeners[listener].port}"

    @property
    def log_file(self) -> Path:
        """Return the path of the broker's log, of all its starts."""
        return self.data_dir / "broker.log"

    @property
    def pid(self) -> int | None:
        """Return the JVM's process id, or None when it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> Self:
        """Start the broker and wait until it responds to a metadata request.

        Raises:
            JavaNotFound: there is no Java, or too old a one.
            JarUnavailable: a jar is missing and cannot be downloaded.
            JarCorrupt: a jar is not the locked one.
            BrokerFailed: it does not come up; the text quotes the end of its log.
        """
        java, jars = find_java(), resolve("broker", progress=self._progress)
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self._choose_port()
        for tries_left in reversed(range(PORT_TRIES)):
            try:
                self._start_once(java, jars)
                return self
            except BrokerFailed:
                # Between the choice of a port and the JVM's bind another process may have taken it.
                if tries_left == 0 or "Address already in use" not in self._log_of_start():
                    raise
                self.port = self.port if is_free(self.port) else free_port()
        raise AssertionError("unreachable: the last try returns or raises")

    def stop(self, timeout: float = 10) -> None:
        """Stop the broker cleanly, and kill it when that takes longer than `timeout` seconds."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGCONT)  # a paused process would not handle the next signal
        self._process.terminate()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            _log.warning("the broker did not stop within %s s and is killed", timeout)
        self.kill()

    def kill(self) -> None:
        """End the broker with SIGKILL, as a crash would; `start` brings it back on the same port and data."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self._process = None

    def restart(self) -> None:
        """Bring the broker up again on the same port and data; stop it first when it runs."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Stop the process with SIGSTOP: its connections stay open and nothing responds."""
        process = self._running()
        process.send_signal(signal.SIGSTOP)
        # On a busy machine its threads may run on for a while.
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        """Continue a paused process."""
        self._running().send_signal(signal.SIGCONT)

    def log_tail(self, lines: int = QUOTED_LOG_LINES) -> str:
        """Return the last lines of the broker's log."""
        if not self.log_file.exists():
            return ""
        return "\n".join(self.log_file.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            raise RuntimeError("the broker is not running")
        return self._process

    def _choose_port(self) -> None:
        if self.port == 0:
            self.port = free_port()
        elif not is_free(self.port):
            taken, self.port = self.port, free_port()
            _log.warning("port %d is taken; the broker listens on %d instead", taken, self.port)

    def _start_once(self, java: Path, jars: list[Path]) -> None:
        data, properties = self.data_dir / "data", self.data_dir / "server.properties"
        properties.write_text(server_properties(data, self.port, free_port(), self._settings, self._listeners))
        command = [str(java), *jvm_options(self._heap, self._jvm), "-cp", os.pathsep.join(map(str, jars))]
        with self.log_file.open("ab") as log:
            self._claim(log)
            self._log_began = log.tell()
            if not (data / "meta.properties").exists():
                self._format(
                    [
                        *command,
                        "kafka.tools.StorageTool",
                        "format",
                        *_new_cluster_id(),
                        "--config",
                        str(properties),
                    ]
                )
            self._process = start_leashed([*command, "kafka.Kafka", properties], log=log)
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.kill()
            raise

    def _claim(self, log: IO[bytes]) -> None:
        """Lock the log for the JVM, which inherits it.

        Kafka's own lock of the directory comes after Raft's start, when two brokers have mixed their records.
        """
        deadline = time.monotonic() + CLAIM_SECONDS
        while True:
            try:
                fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BrokerFailed(f"another broker uses the data directory {self.data_dir}") from None
            time.sleep(POLL_SECONDS)

    def _log_of_start(self) -> str:
        return self.log_file.read_bytes()[self._log_began :].decode(errors="replace")

    def _cluster_id(self) -> str | None:
        lines = (self.data_dir / "data" / "meta.properties").read_text().splitlines()
        return dict(line.partition("=")[::2] for line in lines).get("cluster.id")

    def _format(self, command: list[str]) -> None:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=FORMAT_SECONDS, check=False)
        if ran.returncode != 0:
            raise BrokerFailed(f"The broker's storage cannot be formatted:\n{ran.stdout}{ran.stderr}")

    def _wait_until_ready(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + self._startup_seconds
        while process.poll() is None and time.monotonic() < deadline:
            # Another broker may listen there: this one ends soon then.
            if is_listening(self.port) and _answering_cluster(self.bootstrap_servers) == self._cluster_id():
                return
            time.sleep(POLL_SECONDS)
        what = "answered no request" if process.poll() is None else f"ended with exit code {process.returncode}"
        raise BrokerFailed(
            f"The broker {what} within {self._startup_seconds:g} s of its start. "
            f"The end of {self.log_file}:\n{self.log_tail()}"
        )


def _new_cluster_id() -> list[str]:
    text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return ["--cluster-id", text.replace("-", "A", 1) if text.startswith("-") else text]


def _answering_cluster(bootstrap_servers: str) -> str | None:
    """Return the id of the cluster that responds to a metadata request, with a broker that is not fenced."""
    client = AdminClient({"bootstrap.servers": bootstrap_servers, "socket.timeout.ms": 2000, "log_level": 0})
    try:
        found = client.list_topics(timeout=2)
    except KafkaException:
        return None
    return found.cluster_id if found.brokers else None


@click.command()
@click.option("--port", default=DEFAULT_PORT, show_default=True, help="Port on 127.0.0.1; 0 takes a free one.")
@click.option("--data-dir", type=click.Path(path_type=Path), required=True, help="Kept between runs.")
def main(port: int, data_dir: Path) -> None:
    """Run one Kafka broker in the foreground until Ctrl+C."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with EmbeddedBroker(data_dir, port, progress=_show) as broker:
            click.echo(f"Kafka listens on {broker.bootstrap_servers}; log: {broker.log_file}")
            while broker.pid is not None:
                time.sleep(WATCH_SECONDS)
            raise BrokerFailed(f"The broker ended by itself. The end of its log:\n{broker.log_tail()}")
    except KeyboardInterrupt:
        click.echo("Kafka has stopped")
    except EmbeddedError as error:
        raise click.ClickException(str(error)) from error


def _show(done: int, total: int, coordinate: str) -> None:
    click.echo(f"jar {done} of {total}: {coordinate}")


if __name__ == "__main__":
    main()
