"""Runs of the worker's job with a past, in an instance of a test's own."""

import time
from collections.abc import Mapping
from types import SimpleNamespace
from uuid import uuid4

import dagster as dg
import pytest
from dagster import DagsterEventType, DagsterInstance, DagsterRun, DagsterRunStatus
from dagster._core.events import AssetObservationData

from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.sensors.run_history import ATTEMPT_TAG
from connect_dagster.orchestration.workers import keepalive_sensor
from connect_dagster.orchestration.workers.job import WORKER_ID_TAG, WORKER_JOB

# In whole seconds: databases round moments, and tests compare them exactly.
NOW = float(int(time.time()))
_ENDS = {
    DagsterRunStatus.STARTED: None,
    DagsterRunStatus.CANCELING: DagsterEventType.RUN_CANCELING,
    DagsterRunStatus.FAILURE: DagsterEventType.RUN_FAILURE,
    DagsterRunStatus.CANCELED: DagsterEventType.RUN_CANCELED,
    DagsterRunStatus.SUCCESS: DagsterEventType.RUN_SUCCESS,
}


def stop_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sensor tick at ``NOW``, which many tests may have passed since this module was loaded."""
    monkeypatch.setattr(keepalive_sensor, "time", SimpleNamespace(time=lambda: NOW))


def add_run(
    instance: DagsterInstance,
    status: DagsterRunStatus,
    *,
    worker_id: str = "w",
    age: float = 0.0,
    lasted: float = 0.0,
    attempt: int | None = None,
    tags: Mapping[str, str] | None = None,
) -> DagsterRun:
    """A run that began ``age`` seconds ago and lasted ``lasted``."""
    all_tags = {WORKER_ID_TAG: worker_id, **(tags or {})} | ({ATTEMPT_TAG: str(attempt)} if attempt else {})
    run = instance.add_run(DagsterRun(WORKER_JOB, str(uuid4()), tags=all_tags))
    _add_event(instance, run, DagsterEventType.RUN_START, NOW - age)
    if (end := _ENDS[status]) is not None:
        _add_event(instance, run, end, NOW - age + lasted)
    return run


def status_of(instance: DagsterInstance, run: DagsterRun) -> DagsterRunStatus:
    """What the run is now."""
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    return found.status


def observe_in(
    instance: DagsterInstance, run: DagsterRun, moment: float, *, worker_id: str = "w", **metadata: int
) -> None:
    """An observation of the worker that its run reported."""
    observation = dg.AssetObservation(worker_key(worker_id), metadata=metadata)
    event = dg.DagsterEvent(
        event_type_value=DagsterEventType.ASSET_OBSERVATION.value,
        job_name=WORKER_JOB,
        event_specific_data=AssetObservationData(observation),
    )
    _store(instance, run, event, moment)


def _add_event(instance: DagsterInstance, run: DagsterRun, kind: DagsterEventType, moment: float) -> None:
    _store(instance, run, dg.DagsterEvent(event_type_value=kind.value, job_name=WORKER_JOB), moment)


def _store(instance: DagsterInstance, run: DagsterRun, event: dg.DagsterEvent, moment: float) -> None:
    entry = dg.EventLogEntry(  # type: ignore[no-untyped-call]
        error_info=None, level=20, user_message="", run_id=run.run_id, timestamp=moment, dagster_event=event
    )
    instance.handle_new_event(entry)
