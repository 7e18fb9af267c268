"""Progress of a task's stream."""

from connect_dagster.worker.spark.progress import Progress


def test_before_the_first_batch() -> None:
    assert Progress("c-0").as_json() == {"totalInputRows": 0, "jobGroup": "c-0"}


def test_the_latest_batch_and_the_totals() -> None:
    progress = Progress("c-0")
    progress.batch_done(100, {"triggerExecution": 500}, {"position": 10})
    progress.batch_done(50, {"queryPlanning": 5, "addBatch": 20, "triggerExecution": 250}, {"position": 15})
    found = progress.as_json()
    assert found.pop("inputRowsPerSecond") > 0
    assert found == {
        "batchId": 1,
        "numInputRows": 50,
        "processedRowsPerSecond": 200.0,
        "durationMs": {"queryPlanning": 5, "addBatch": 20, "triggerExecution": 250},
        "endOffset": {"position": 15},
        "totalInputRows": 150,
        "jobGroup": "c-0",
    }
    assert progress.total == 150


def test_a_batch_that_took_no_time() -> None:
    progress = Progress("c-0")
    progress.batch_done(3, {}, None)
    assert progress.as_json()["processedRowsPerSecond"] == 3000.0
