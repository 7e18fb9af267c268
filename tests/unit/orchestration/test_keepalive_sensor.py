import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import dagster as dg
import pytest
from dagster import AssetObservation, DagsterInstance, DagsterRun, DagsterRunStatus

from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration import (
    BackOff,
    ConnectWorkerResource,
    KafkaConnectWorkspace,
    build_connect_worker_job,
    build_connect_worker_keepalive_sensor,
)
from connect_dagster.orchestration.asset_keys import worker_key
from connect_dagster.orchestration.keepalive_sensor import ATTEMPT_TAG, WorkerLook
from connect_dagster.orchestration.worker_job import WORKER_ID_TAG, WORKER_JOB

NOW = time.time()
AddRun = Callable[..., DagsterRun]


@pytest.fixture(name="instance")
def instance_fixture() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture(name="add_run")
def add_run_fixture(instance: DagsterInstance) -> AddRun:
    """Adds a run of worker `w` that began ``age`` seconds ago and lasted ``lasted``."""

    def add(status: DagsterRunStatus, age: float = 0.0, lasted: float = 0.0, attempt: int | None = None) -> DagsterRun:
        tags = {WORKER_ID_TAG: "w"} | ({ATTEMPT_TAG: str(attempt)} if attempt else {})
        run = instance.add_run(DagsterRun(WORKER_JOB, str(uuid4()), tags=tags))
        for moment, event_type in _events_until(status, NOW - age, lasted):
            event = dg.DagsterEvent(event_type_value=event_type.value, job_name=WORKER_JOB)
            entry = dg.EventLogEntry(  # type: ignore[no-untyped-call]
                error_info=None,
                level=20,
                user_message="",
                run_id=run.run_id,
                timestamp=moment,
                dagster_event=event,
            )
            instance.handle_new_event(entry)
        return run

    return add


def _events_until(status: DagsterRunStatus, start: float, lasted: float) -> list[tuple[float, dg.DagsterEventType]]:
    ends = {
        DagsterRunStatus.STARTED: None,
        DagsterRunStatus.FAILURE: dg.DagsterEventType.RUN_FAILURE,
        DagsterRunStatus.CANCELED: dg.DagsterEventType.RUN_CANCELED,
        DagsterRunStatus.SUCCESS: dg.DagsterEventType.RUN_SUCCESS,
    }
    end = ends[status]
    begin = [(start, dg.DagsterEventType.RUN_START)]
    return begin if end is None else [*begin, (start + lasted, end)]


def reason(instance: DagsterInstance, *, alive: bool = False, now: float = NOW) -> str | None:
    look = WorkerLook(instance, "w", lambda: alive, 100.0, BackOff(base=10.0, cap=60.0, settled=600.0))
    return look.reason_to_skip(now)


def test_the_first_life_starts_at_once(instance: DagsterInstance) -> None:
    assert reason(instance) is None


def test_a_run_whose_worker_answers_is_left_alone(instance: DagsterInstance, add_run: AddRun) -> None:
    run = add_run(DagsterRunStatus.STARTED, age=50)
    assert reason(instance, alive=True) == f"Alive in run {run.run_id[:8]}"


def test_a_worker_that_still_starts_is_waited_for(instance: DagsterInstance, add_run: AddRun) -> None:
    run = add_run(DagsterRunStatus.STARTED, age=50)
    assert reason(instance) == f"Run {run.run_id[:8]} is STARTED and its worker does not answer yet"


def test_a_zombie_is_marked_failed_and_replaced(instance: DagsterInstance, add_run: AddRun) -> None:
    run = add_run(DagsterRunStatus.STARTED, age=150)
    assert reason(instance) is None
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    assert found.status is DagsterRunStatus.FAILURE


def test_an_observation_is_a_sign_of_life(instance: DagsterInstance, add_run: AddRun) -> None:
    add_run(DagsterRunStatus.STARTED, age=150)
    instance.report_runless_asset_event(AssetObservation(worker_key("w")))
    assert "does not answer yet" in str(reason(instance))


def test_a_canceled_run_is_a_users_will(instance: DagsterInstance, add_run: AddRun) -> None:
    add_run(DagsterRunStatus.FAILURE, age=5000)
    add_run(DagsterRunStatus.CANCELED, age=1000, lasted=10)
    assert "Stopped by a user" in str(reason(instance))


def test_a_launch_by_hand_ends_the_users_stop(instance: DagsterInstance, add_run: AddRun) -> None:
    add_run(DagsterRunStatus.CANCELED, age=1000, lasted=10)
    add_run(DagsterRunStatus.FAILURE, age=500, lasted=10)
    assert reason(instance) is None


def test_a_worker_of_somebody_else_is_not_fought(instance: DagsterInstance) -> None:
    assert reason(instance, alive=True) == "A worker that Dagster did not launch answers at the address"


@pytest.mark.parametrize(("failures", "wait"), [(1, 10), (2, 20), (3, 40), (4, 60), (9, 60)])
def test_waits_double_up_to_the_cap(instance: DagsterInstance, add_run: AddRun, failures: int, wait: int) -> None:
    for _ in range(failures):
        add_run(DagsterRunStatus.FAILURE, age=0)
    assert reason(instance, now=NOW + wait - 1) == "Waiting 1 s after a failure"
    assert reason(instance, now=NOW + wait) is None


def test_a_long_life_starts_the_count_anew(instance: DagsterInstance, add_run: AddRun) -> None:
    for _ in range(3):
        add_run(DagsterRunStatus.FAILURE, age=5000)
    add_run(DagsterRunStatus.FAILURE, age=700, lasted=700)
    assert reason(instance, now=NOW + 10) is None


def test_run_keys_count_attempts_beyond_cursor_and_tags(instance: DagsterInstance, add_run: AddRun) -> None:
    resource = ConnectWorkerResource(
        workspace=KafkaConnectWorkspace(url=f"http://127.0.0.1:{free_port()}"), worker_properties="w.properties"
    )
    sensor = build_connect_worker_keepalive_sensor(job=build_connect_worker_job(worker_id="w"), worker_id="w")

    def tick(cursor: str | None) -> tuple[str | None, str | None]:
        with dg.build_sensor_context(
            instance=instance, cursor=cursor, resources={"connect_worker": resource}
        ) as context:
            result = sensor.evaluate_tick(context)
        assert result.run_requests is not None
        return result.run_requests[0].run_key, result.cursor

    assert tick(None) == ("w:1", '{"attempt":1}')
    assert tick('{"attempt":4}')[0] == "w:5"
    assert tick("not json")[0] == "w:1"
    add_run(DagsterRunStatus.FAILURE, age=5000, attempt=7)
    assert tick('{"attempt":4}')[0] == "w:8"
