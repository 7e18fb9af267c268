"""The REST API beside Java's: the same calls to a Java worker and to ours, answers compared part by part."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.conformance.distributed_play import LINES, Worker, cluster_id
from tests.conformance.java_connect import JavaStandalone
from tests.conformance.rest_differences import DIFFERENCES
from tests.conformance.rest_play import Side, problems, recorded
from tests.conformance.rest_script import SCENES
from tests.conftest import Broker
from tests.golden_answers import Golden
from tests.integration.worker_process import JSON_CONVERTER, WorkerProcess


@pytest.fixture(scope="module")
def props(broker: Broker) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "offset.flush.interval.ms": "500",
    }


@pytest.fixture(scope="module")
def ours(props: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    workdir = tmp_path_factory.mktemp("rest")
    with WorkerProcess(props, [], workdir / "ours") as worker:
        yield _side(worker, workdir, "ours")


@pytest.fixture(scope="module")
def java(props: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Side]]:
    """Starts Java's worker when it is called first."""
    with ExitStack() as workers:

        @cache
        def start() -> Side:
            workdir = tmp_path_factory.mktemp("rest")
            worker = workers.enter_context(JavaStandalone(props, [], workdir / "java"))
            return _side(worker, workdir, "java")

        yield start


@pytest.mark.parametrize("scene", SCENES)
def test_answers_equal_javas(golden: Golden, java: Callable[[], Side], ours: Side, scene: str) -> None:
    theirs = recorded(golden, scene, lambda: java().play(SCENES[scene]))
    answers = ours.play(SCENES[scene])
    assert list(theirs) == list(answers), "the scene has other steps than were recorded: run `make golden`"
    found = [
        problem for step in theirs for problem in problems(step, theirs[step], answers[step], DIFFERENCES.get(step))
    ]
    assert not found, "\n\n".join(found)


def test_each_step_has_an_id_of_its_own() -> None:
    ids = [step.id for steps in SCENES.values() for step in steps]
    assert len(ids) == len(set(ids))
    assert not DIFFERENCES.keys() - set(ids)


def _side(worker: Worker, workdir: Path, name: str) -> Side:
    source = workdir / f"{name}.txt"
    source.write_text(LINES)
    prefix = f"{name}-{uuid.uuid4().hex[:8]}-"
    names = {
        "source": str(source),
        "sink": f"{workdir}/{name}.sink.txt",
        "topic": f"{prefix}t",
        "prefix": prefix,
        "cluster": cluster_id(worker.props["bootstrap.servers"]),
    }
    return Side(worker.rest_url.rstrip("/"), names)
