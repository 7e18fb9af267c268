"""The REST API beside Java's: the same calls to a Java worker and to ours, answers compared part by part."""

import uuid
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.java_connect import JavaStandalone
from tests.conformance.rest_differences import DIFFERENCES
from tests.conformance.rest_play import Seen, Side
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
    problems = [problem for step in java for problem in _problems(step, java[step], ours[step])]
    assert not problems, "\n\n".join(problems)


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


def _leaves(path: str, java: Any, ours: Any) -> Iterator[str]:
    """Where two bodies differ; an object is a list of pairs, so equal keys are equal first elements."""
    if isinstance(java, list | tuple) and isinstance(ours, list | tuple) and len(java) == len(ours):
        for number, (left, right) in enumerate(zip(java, ours, strict=True)):
            pair = isinstance(left, tuple) and isinstance(right, tuple) and left[0] == right[0]
            yield from _leaves(f"{path}.{left[0] if pair else number}", left, right)
    elif java != ours:
        yield f"{path}\n  java {java!r}\n  ours {ours!r}"


def _problems(step: str, java: Seen, ours: Seen) -> list[str]:
    differing = {field.name for field in fields(Seen) if getattr(java, field.name) != getattr(ours, field.name)}
    allowed = DIFFERENCES.get(step)
    unexpected = sorted(differing - (allowed.parts if allowed else frozenset()))
    problems = [
        f"{step}: {line}" for part in unexpected for line in _leaves(part, getattr(java, part), getattr(ours, part))
    ]
    if allowed and (gone := allowed.parts - differing):
        problems.append(f"{step}: no difference any more in {sorted(gone)}")
    if allowed and (ours.status != allowed.ours or allowed.says not in str(ours.body)):
        problems.append(f"{step}: ours is not as listed: {ours}")
    return problems
