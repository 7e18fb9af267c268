"""A connector that never returns holds up nobody but those who ask something of it."""

import time
from pathlib import Path

from tests.integration.herder.conftest import ObedientConnector

# What is not held up answers far faster than a stuck connector is given up.
QUICK = 4.0


def test_a_stuck_start_leaves_reads_and_other_connectors_alone(obedient: ObedientConnector, tmp_path: Path) -> None:
    obedient.order("block-start")
    creating = obedient.later("PUT", "/config", obedient.config())
    obedient.wait_journal("connector start")
    worker, other = obedient.worker, f"{obedient.name}-other"
    (tmp_path / "in.txt").write_text("line\n")
    file_source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": other}

    began = time.monotonic()
    assert obedient.name in worker.call("GET", "/connectors").json
    assert worker.call("GET", "/health").status == 200
    assert obedient.call("GET").json["tasks"] == []
    assert obedient.call("GET", "/status").message == f"No status found for connector {obedient.name}"
    assert worker.call("PUT", f"/connectors/{other}/config", file_source).status == 201
    assert worker.call("PUT", f"/connectors/{other}/pause").status == 202
    assert time.monotonic() - began < QUICK
    worker.wait_states(other, "PAUSED", "PAUSED")
    worker.call("DELETE", f"/connectors/{other}")
    assert not creating.done()

    obedient.revoke("block-start")
    assert creating.result(60).status == 201
    obedient.wait_states("RUNNING", "RUNNING")


def test_a_stuck_connector_can_be_deleted(obedient: ObedientConnector) -> None:
    obedient.order("block-start")
    creating = obedient.later("PUT", "/config", obedient.config())
    obedient.wait_journal("connector start")
    assert obedient.call("DELETE").status == 204
    answer = creating.result(60)
    assert answer.status == 500
    assert answer.message == (f"Connector {obedient.name} was changed, restarted or deleted while it was starting")
    assert "has become unresponsive" in obedient.worker.log()
    obedient.revoke("block-start")
    assert obedient.put().status == 201
    obedient.wait_states("RUNNING", "RUNNING")


def test_a_stuck_task_plan_can_be_overtaken(obedient: ObedientConnector) -> None:
    obedient.order("block-tasks")
    creating = obedient.later("PUT", "/config", obedient.config())
    obedient.wait_journal("connector tasks")
    # Asked while the first one waits: it has to give up the stuck connector object.
    changing = obedient.later("PUT", "/config", obedient.config(task_count="2", tasks_max="2"))
    obedient.wait_journal("connector start", 2)
    obedient.revoke("block-tasks")
    assert changing.result(60).status == 200
    assert creating.result(60).status == 201
    obedient.wait_states("RUNNING", "RUNNING", "RUNNING")


def test_a_stuck_stop_is_given_up(obedient: ObedientConnector) -> None:
    assert obedient.put().status == 201
    obedient.wait_states("RUNNING", "RUNNING")
    obedient.order("block-stop")
    assert obedient.call("DELETE").status == 204
    assert obedient.call("GET", "/status").status == 404
    obedient.revoke("block-stop")


def test_two_changes_at_once_leave_one_of_them(obedient: ObedientConnector) -> None:
    assert obedient.put().status == 201
    changes = [
        obedient.later("PUT", "/config", obedient.config(task_count=str(count), tasks_max="4", note=str(count)))
        for count in (1, 2, 3, 4)
    ]
    statuses = [change.result(90).status for change in changes]
    # 500: another change came while this one started the connector.
    assert set(statuses) <= {200, 500}
    assert 200 in statuses
    count = int(obedient.call("GET", "/config").json["note"])
    obedient.wait_states("RUNNING", *["RUNNING"] * count)
    assert len(obedient.call("GET", "/tasks").json) == count
