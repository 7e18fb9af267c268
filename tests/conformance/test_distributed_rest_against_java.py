"""The REST API of a distributed worker beside Java's: the same calls to both, answers compared part by part."""

from collections.abc import Iterator

import pytest

from tests.conformance.distributed_differences import DIFFERENCES, MOST_REASONS
from tests.conformance.distributed_play import at_once, clusters
from tests.conformance.distributed_script import SCENES
from tests.conformance.rest_play import Side, problems
from tests.conftest import Broker

# One pair of workers serves all scenes, also when tests run in several processes.
pytestmark = pytest.mark.xdist_group("distributed_rest_against_java")


@pytest.fixture(scope="module")
def sides(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    with clusters(broker.bootstrap_servers, tmp_path_factory.mktemp("distributed-rest")) as (java, ours):
        yield java.side, ours.side


@pytest.mark.parametrize("scene", SCENES)
def test_answers_equal_javas(sides: tuple[Side, Side], scene: str) -> None:
    java, ours = at_once(lambda side: side.play(SCENES[scene]), sides)
    found = [problem for step in java for problem in problems(step, java[step], ours[step], DIFFERENCES.get(step))]
    assert not found, "\n\n".join(found)


def test_each_step_has_an_id_of_its_own() -> None:
    ids = [step.id for steps in SCENES.values() for step in steps]
    assert len(ids) == len(set(ids)) >= 150
    assert not DIFFERENCES.keys() - set(ids)


def test_few_reasons_allow_differences() -> None:
    assert len({difference.reason for difference in DIFFERENCES.values()}) <= MOST_REASONS
