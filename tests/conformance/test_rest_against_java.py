"""The REST API beside Java's: the same calls to a Java worker and to ours, answers compared part by part."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.java_connect import JavaStandalone
from tests.conformance.rest_differences import DIFFERENCES
from tests.conformance.rest_play import Side, problems
from tests.conformance.rest_script import SCENES
from tests.conftest import Broker
from tests.integration.worker_process import JSON_CONVERTER, WorkerProcess

# ASCII, because Java counts characters in a file offset where we count bytes.
LINES = "first message\nseconde line\nthird message\n"

# One pair of workers serves all scenes, also when tests run in several processes.
pytestmark = pytest.mark.xdist_group("rest_against_java")


@pytest.fixture(scope="module")
def sides(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    workdir = tmp_path_factory.mktemp("rest")
    props = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": JSON_CONVERTER,
        "value.converter": JSON_CONVERTER,
        "offset.flush.interval.ms": "500",
    }
    with (
        WorkerProcess(props, [], workdir / "ours") as ours,
        JavaStandalone(props, [], workdir / "java") as java,
    ):
        yield _side(java.rest_url, workdir, "java"), _side(ours.rest_url, workdir, "ours")


@pytest.mark.parametrize("scene", SCENES)
def test_answers_equal_javas(sides: tuple[Side, Side], scene: str) -> None:
    java, ours = (side.play(SCENES[scene]) for side in sides)
    found = [problem for step in java for problem in problems(step, java[step], ours[step], DIFFERENCES.get(step))]
    assert not found, "\n\n".join(found)


def test_each_step_has_an_id_of_its_own() -> None:
    ids = [step.id for steps in SCENES.values() for step in steps]
    assert len(ids) == len(set(ids))
    assert not DIFFERENCES.keys() - set(ids)


def _side(url: str, workdir: Path, name: str) -> Side:
    source = workdir / f"{name}.txt"
    source.write_text(LINES)
    prefix = f"{name}-{uuid.uuid4().hex[:8]}-"
    names = {"source": str(source), "sink": f"{workdir}/{name}.sink.txt", "topic": f"{prefix}t", "prefix": prefix}
    return Side(url.rstrip("/"), names)
