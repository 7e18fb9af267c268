"""The REST API of a distributed worker beside Java's: the same calls to both, answers compared part by part."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from tests.conformance import rest_script
from tests.conformance.distributed_differences import DIFFERENCES, MOST_REASONS
from tests.conformance.distributed_play import at_once, java_cluster, our_cluster
from tests.conformance.distributed_script import SCENES
from tests.conformance.rest_play import Side, problems, recorded
from tests.conftest import Broker
from tests.golden_answers import Golden


@pytest.fixture(scope="module")
def ours(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    with our_cluster(broker.bootstrap_servers, tmp_path_factory.mktemp("distributed-rest")) as cluster:
        yield cluster.side


@pytest.fixture(scope="module")
def java(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Side]]:
    """Starts Java's worker when it is called first."""
    with ExitStack() as clusters:

        @cache
        def start() -> Side:
            folder = tmp_path_factory.mktemp("distributed-rest")
            return clusters.enter_context(java_cluster(broker.bootstrap_servers, folder)).side

        yield start


# The other scenes are also the standalone script's, which `make test` plays to a standalone worker.
OF_DISTRIBUTED_ALONE = SCENES.keys() - rest_script.SCENES.keys()


@pytest.mark.parametrize(
    "scene",
    [scene if scene in OF_DISTRIBUTED_ALONE else pytest.param(scene, marks=pytest.mark.nightly) for scene in SCENES],
)
def test_answers_equal_javas(golden: Golden, java: Callable[[], Side], ours: Side, scene: str) -> None:
    theirs, answers = at_once(
        lambda: recorded(golden, scene, lambda: java().play(SCENES[scene])), lambda: ours.play(SCENES[scene])
    )
    assert list(theirs) == list(answers), "the scene has other steps than were recorded: run `make golden`"
    found = [
        problem for step in theirs for problem in problems(step, theirs[step], answers[step], DIFFERENCES.get(step))
    ]
    assert not found, "\n\n".join(found)


def test_each_step_has_an_id_of_its_own() -> None:
    ids = [step.id for steps in SCENES.values() for step in steps]
    assert len(ids) == len(set(ids)) >= 150
    assert not DIFFERENCES.keys() - set(ids)


def test_few_reasons_allow_differences() -> None:
    assert len({difference.reason for difference in DIFFERENCES.values()}) <= MOST_REASONS
