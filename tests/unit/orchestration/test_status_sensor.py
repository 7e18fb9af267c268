import dagster as dg

from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration import KafkaConnectWorkspace, build_connector_status_sensor
from connect_dagster.orchestration.status_sensor import StatusCursor, rotated


def test_a_cursor_that_cannot_be_read_is_a_fresh_one() -> None:
    assert StatusCursor.read("{") == StatusCursor.read(None) == StatusCursor()


def test_a_cursor_survives_its_text() -> None:
    cursor = StatusCursor(offsets={"a": "1"}, resume_after="a")
    assert StatusCursor.read(cursor.model_dump_json()) == cursor


def test_a_poll_goes_on_after_the_last_one_and_comes_around() -> None:
    assert rotated(["c", "a", "b"], None) == ["a", "b", "c"]
    assert rotated(["c", "a", "b"], "a") == ["b", "c", "a"]
    assert rotated(["c", "a"], "b") == ["c", "a"]


def test_no_worker_is_a_skip_that_says_so() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    workspace = KafkaConnectWorkspace(url=url, request_max_retries=0)
    sensor = build_connector_status_sensor()
    with dg.build_sensor_context(resources={"kafka_connect": workspace}) as context:
        result = sensor.evaluate_tick(context)
    assert result.skip_message == f"No Kafka Connect worker answers at {url}: connection refused or broken"
    assert result.asset_events == []
