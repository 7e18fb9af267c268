"""Runs that a sensor asked for, as the instance knows them."""

import time
from collections.abc import Iterator
from uuid import uuid4

import pytest
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus

from connect_dagster.orchestration.sensors.run_history import ATTEMPT_TAG, OVERDUE_SECONDS, RunHistory

TAGS = {"connect-dagster/connector": "lines"}


@pytest.fixture(name="instance")
def instance_fixture() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as instance:
        yield instance


def add_run(instance: DagsterInstance, status: DagsterRunStatus, number: int) -> str:
    tags = {**TAGS, ATTEMPT_TAG: str(number)}
    return instance.add_run(DagsterRun("job", str(uuid4()), status=status, tags=tags)).run_id[:8]


def history(instance: DagsterInstance, later: float = 0.0) -> RunHistory:
    return RunHistory(instance, TAGS, time.time() + later)


@pytest.mark.parametrize("status", [DagsterRunStatus.STARTING, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING])
def test_a_run_that_is_not_over_is_waited_for_but_not_for_ever(
    instance: DagsterInstance, status: DagsterRunStatus
) -> None:
    assert history(instance).under_way is None
    run = add_run(instance, status, 1)
    assert history(instance, OVERDUE_SECONDS - 60).under_way == run
    assert history(instance, OVERDUE_SECONDS + 60).under_way is None


@pytest.mark.parametrize("status", [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED])
def test_a_run_that_is_over_is_not(instance: DagsterInstance, status: DagsterRunStatus) -> None:
    add_run(instance, status, 1)
    assert history(instance).under_way is None


def test_numbers_go_on_from_cursor_and_runs(instance: DagsterInstance) -> None:
    assert history(instance).next_number(0) == 1
    add_run(instance, DagsterRunStatus.SUCCESS, 7)
    assert history(instance).next_number(0) == 8
    assert history(instance).next_number(9) == 10
    assert history(instance).tags(8) == {**TAGS, ATTEMPT_TAG: "8"}


def test_a_run_that_is_executed_again_brings_no_old_number_back(instance: DagsterInstance) -> None:
    add_run(instance, DagsterRunStatus.SUCCESS, 7)
    add_run(instance, DagsterRunStatus.SUCCESS, 2)
    assert history(instance).next_number(0) == 8
