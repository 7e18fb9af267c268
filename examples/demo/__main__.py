"""The demo's story: broker, Dagster, the worker it launches, a log that grows, and a clean end.

python -m examples.demo [--once] [--lines N] [--directory DIR]
"""

import contextlib
import fcntl
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click
from dagster import DagsterInstance, DagsterRunStatus

from connect_dagster.client.interrupts import uninterrupted
from connect_dagster.client.operations import Wait, await_states
from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.errors import EmbeddedError
from connect_dagster.embedded.ports import free_port, is_free
from connect_dagster.plugin.connector_file import DesiredState
from examples.demo.access_log import AccessLogWriter
from examples.demo.evidence import Evidence, count_lines, gather, newest_worker_run
from examples.demo.project import SINK, SOURCE, TOPIC, DemoProject

WORKER_SECONDS = 180
DELIVERY_SECONDS = 180
REPORT_SECONDS = 10
RATE = 2_500
TRICKLE = 20

STATUS_NOTES = {
    DagsterRunStatus.STARTED: ": the worker starts and warms up its Spark session",
    DagsterRunStatus.FAILURE: ": see the run in the UI; the sensor tries again",
}

_started = time.monotonic()


class DemoFailed(Exception):
    """The demo cannot go on; says why in one sentence."""


def say(text: str) -> None:
    """Return a progress line with the seconds since the start."""
    print(f"[{time.monotonic() - _started:6.1f} s] {text}", flush=True)


@click.command()
@click.option("--once", is_flag=True, help="Check that all lines arrived, report, and end.")
@click.option("--lines", default=10_000, show_default=True, help="Log lines to generate at full rate.")
@click.option("--directory", default=".demo", show_default=True, help="Where everything goes; emptied first.")
def main(once: bool, lines: int, directory: str) -> None:
    """Runs a growing nginx access log through Kafka to a file, on Spark, seen in Dagster."""
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    stack = contextlib.ExitStack()
    try:
        sys.exit(_demo(stack, Path(directory).absolute(), lines, once))
    except KeyboardInterrupt:
        sys.exit(130 if once else 0)
    except (DemoFailed, EmbeddedError) as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(1)
    finally:
        # A second Ctrl+C does not cut this off.
        with uninterrupted():
            say("stopping")
            stack.close()
            say("stopped; nothing of the demo runs any more")


def _demo(stack: contextlib.ExitStack, directory: Path, lines: int, once: bool) -> int:
    root = _checkout()
    _claim(stack, directory)
    say(f"working directory {directory}")
    broker = _start_broker(stack, directory)
    project = DemoProject(root, directory, broker.bootstrap_servers, _port(stack, 8083), _port(stack, 3000))
    project.write()
    instance = _start_dagster(stack, project)
    _await_worker(project, instance)
    _await_connectors(project)
    writer = AccessLogWriter(project.access_log, lines, RATE, 0 if once else TRICKLE)
    stack.callback(writer.stop)
    writer.start()
    say(f"{project.access_log.name} grows by {lines:,} lines, {RATE:,} a second")
    return _check(project, instance, lines) if once else _watch(project, lines)


def _checkout() -> Path:
    root = Path.cwd()
    if not (root / "workspace.yaml").exists():
        raise DemoFailed(f"no workspace.yaml in {root}: run the demo in a checkout of connect_dagster")
    return root


def _claim(stack: contextlib.ExitStack, directory: Path) -> None:
    """Empty the directory, unless another demo runs in it."""
    directory.mkdir(parents=True, exist_ok=True)
    lock = stack.enter_context((directory / "lock").open("a"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise DemoFailed(f"another demo runs in {directory}") from error
    for old in set(directory.iterdir()) - {directory / "lock"}:
        shutil.rmtree(old) if old.is_dir() else old.unlink()


def _start_broker(stack: contextlib.ExitStack, directory: Path) -> EmbeddedBroker:
    say("Kafka broker starts (the first time its jars are downloaded)")
    broker = EmbeddedBroker(directory / "kafka", heap="512m", progress=_say_jar)
    stack.callback(broker.stop)
    broker.start()
    say(f"Kafka broker       {broker.bootstrap_servers}")
    return broker


def _say_jar(number: int, total: int, name: str) -> None:
    say(f"  jar {number} of {total}: {name}")


def _port(stack: contextlib.ExitStack, default: int) -> int:
    if is_free(default) and _reserved(stack, default):
        return default
    other = free_port()
    say(f"port {default} is taken; using {other}")
    return other


def _reserved(stack: contextlib.ExitStack, port: int) -> bool:
    """Reserve the port among demos: the server that opens it starts later; return whether no other demo has it."""
    try:
        lock = stack.enter_context((Path(tempfile.gettempdir()) / f"connect-dagster-demo-{port}.lock").open("a"))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _start_dagster(stack: contextlib.ExitStack, project: DemoProject) -> DagsterInstance:
    say("Dagster starts: UI, daemon, the shipped project")
    dagster = stack.enter_context(project.dagster())
    dagster.wait_ready()
    say(f"Dagster UI         {dagster.url}")
    say(f"  lineage          {dagster.url}/asset-groups")
    say(f"  pause a connector {dagster.url}/locations/connect_dagster/jobs/kafka_connect_pause/playground")
    return stack.enter_context(DagsterInstance.from_config(str(project.home)))


def _await_worker(project: DemoProject, instance: DagsterInstance) -> None:
    """Wait for the worker that the keep-alive sensor launches, telling of each run and how it fares."""
    say("the keep-alive sensor launches the worker's job")
    deadline, told, client = time.monotonic() + WORKER_SECONDS, "", project.client()
    while not client.is_alive():
        run = newest_worker_run(instance)
        if run and (state := f"{run.dagster_run.run_id[:8]} {run.dagster_run.status.value}") != told:
            say(f"worker run         {state}{STATUS_NOTES.get(run.dagster_run.status, '')}")
            told = state
        if time.monotonic() > deadline:
            raise DemoFailed(f"no worker responds at {project.rest_url} after {WORKER_SECONDS} s; {told or 'no run'}")
        time.sleep(0.2)
    say(f"Kafka Connect REST {project.rest_url}/connectors")


def _await_connectors(project: DemoProject) -> None:
    """Wait until the connectors run that Dagster declares: lines that come sooner would wait for them."""
    say("Dagster applies the connectors that the project declares")
    goals = dict.fromkeys((SOURCE, SINK), DesiredState.RUNNING)
    if unreached := await_states(project.client(), goals, Wait(WORKER_SECONDS)):
        states = "; ".join(f"{name}: {state}" for name, state in unreached.items())
        raise DemoFailed(f"not all connectors run at {project.rest_url} after {WORKER_SECONDS} s: {states}")
    say("connectors RUNNING")


def _watch(project: DemoProject, lines: int) -> int:
    """Tell of the records until interrupted."""
    say("Ctrl+C stops everything")
    rates = _Rate()
    while True:
        say(_traffic(project, rates))
        time.sleep(1 if count_lines(project.sink_file) < lines else REPORT_SECONDS)


def _check(project: DemoProject, instance: DagsterInstance, lines: int) -> int:
    """Wait until everything arrived and is recorded, then report; the exit code."""
    deadline, rates, told = time.monotonic() + DELIVERY_SECONDS, _Rate(), ""
    while True:
        evidence = gather(project, instance, lines)
        missing = evidence.missing()
        if not missing or time.monotonic() > deadline:
            return _conclude(evidence)
        text = _traffic(project, rates) if evidence.compared < lines else f"waiting: {missing[0]}"
        if text != told:
            say(text)
            told = text
        time.sleep(1)


def _conclude(evidence: Evidence) -> int:
    for line in evidence.lines():
        print(f"  {line}", flush=True)
    missing = evidence.missing()
    for what in missing:
        print(f"  MISSING: {what}", file=sys.stderr, flush=True)
    print("demo: " + ("something is missing" if missing else "everything arrived"), flush=True)
    return 1 if missing else 0


def _traffic(project: DemoProject, rates: "_Rate") -> str:
    written, arrived = count_lines(project.access_log), count_lines(project.sink_file)
    rate = rates.after(arrived)
    return f"access.log {written:,} lines → {TOPIC} → test.sink.txt {arrived:,} lines   {rate:,.0f} records/s"


class _Rate:
    """Records per second since the last look."""

    def __init__(self) -> None:
        self._moment = time.monotonic()
        self._count = 0

    def after(self, count: int) -> float:
        now = time.monotonic()
        rate = (count - self._count) / max(now - self._moment, 0.001)
        self._moment, self._count = now, count
        return rate


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
