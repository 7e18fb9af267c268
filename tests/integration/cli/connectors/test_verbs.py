"""`connect-dagster` as it is started from a shell, operating connectors of a real worker."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.orchestration import FileStreamSourceResource
from tests.conftest import Broker
from tests.integration.worker_process import WorkerProcess, write_properties
from tests.shipped_project import wait_until

COMMAND = Path(sys.executable).with_name("connect-dagster")


@dataclass(frozen=True, slots=True)
class Shell:
    """Where the command is started; it finds the worker by the environment's variable."""

    url: str
    folder: Path

    def __call__(self, *words: object, given: str = "", code: int = 0) -> str:
        """Run the command; answers what it printed."""
        ran = subprocess.run(
            [COMMAND, *map(str, words)],
            env={"CONNECT_DAGSTER_REST_URL": self.url},
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout


@pytest.fixture(name="shell", scope="module")
def shell_fixture(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("shell")
    with WorkerProcess({"bootstrap.servers": broker.bootstrap_servers}, [], folder / "worker") as worker:
        yield Shell(worker.rest_url, folder)


def test_connectors_are_applied_operated_and_deleted(shell: Shell, topic_prefix: str) -> None:
    source, sink, out = f"{topic_prefix}source", f"{topic_prefix}sink", shell.folder / "out.txt"
    (shell.folder / "in.txt").write_text("one\ntwo\n")
    config = {"connector.class": "FileStreamSource", "file": str(shell.folder / "in.txt"), "topic": topic_prefix}
    files = [
        write_properties(shell.folder / "source.properties", {"name": source, **config}),
        write_properties(
            shell.folder / "sink.properties",
            {"name": sink, "connector.class": "FileStreamSink", "file": str(out), "topics": topic_prefix},
        ),
    ]
    shell("diff", *files, code=1)
    assert f"{source}: RUNNING, task 0 RUNNING\n" in shell("apply", *files)
    assert shell("diff", *files) == f"{source}: no change\n{sink}: no change\n"
    wait_until(lambda: out.exists() and out.read_text() == "one\ntwo\n", "see the lines", 60)

    def committed() -> bool:
        return bool(json.loads(shell("offsets", "show", source, "--json"))["offsets"])

    wait_until(committed, "see the source commit", 60)
    shell("offsets", "reset", source)
    wait_until(lambda: out.read_text() == "one\ntwo\n" * 2, "see the lines again", 60)

    # A line for each as soon as it is paused.
    paused = shell("pause", source, sink).splitlines()
    assert sorted(paused) == sorted(f"{name}: PAUSED, task 0 PAUSED" for name in (source, sink))
    write_properties(files[0], {"name": source, **config, "batch.size": "5"})
    assert f"{source}: change and go from PAUSED to RUNNING\n  + batch.size=5\n" in shell("apply", files[0])
    assert shell("delete", source, sink) == f"{source}: deleted\n{sink}: deleted\n"
    assert source not in shell("list")


def test_a_task_that_failed_is_told_and_restarted(shell: Shell, topic_prefix: str) -> None:
    name, folder = f"{topic_prefix}stuck", shell.folder / "missing"
    config = {"connector.class": "FileStreamSink", "file": str(folder / "out.txt"), "topics": topic_prefix}
    file = write_properties(shell.folder / "stuck.properties", {"name": name, **config})
    shell("apply", file, "--timeout", "2", code=1)
    told = shell("status", name, code=1)
    assert "FAILED" in told
    assert f"Couldn't find or create file '{folder}/out.txt'" in told
    folder.mkdir()
    assert shell("restart", name) == f"{name}: RUNNING, task 0 RUNNING\n"


def test_the_resource_of_a_plugin_is_the_one_that_ships(shell: Shell) -> None:
    module: dict[str, Any] = {"__name__": "printed"}
    exec(compile(shell("typed-resource", "FileStreamSource"), "printed.py", "exec"), module)
    printed, shipped = module["FileStreamSourceResource"].model_fields, FileStreamSourceResource.model_fields
    assert {name: (field.annotation, field.description) for name, field in printed.items()} == {
        name: (field.annotation, field.description) for name, field in shipped.items()
    }
