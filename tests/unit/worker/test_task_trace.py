"""Traces of failures: the first line as users of Kafka Connect know it, then Python's traceback."""

from connect_dagster.errors import ConnectError, DataError
from connect_dagster.worker.task import failure_trace


def raised(error: Exception) -> Exception:
    try:
        raise error
    except Exception as caught:
        return caught


def test_an_error_of_kafka_connect_by_its_javas_name() -> None:
    lines = failure_trace(raised(DataError("bad record")), "WorkerSourceTask").splitlines()
    assert lines[0] == "org.apache.kafka.connect.errors.DataException: bad record"
    assert lines[1] == "Traceback (most recent call last):"
    assert lines[-1] == "connect_dagster.errors.DataError: bad record"


def test_any_other_error_of_a_source() -> None:
    lines = failure_trace(raised(ValueError("wrong")), "WorkerSourceTask").splitlines()
    assert lines[0] == "org.apache.kafka.connect.errors.ConnectException: wrong"
    assert lines[-1] == "ValueError: wrong"


def test_any_other_error_of_a_sink() -> None:
    lines = failure_trace(raised(ValueError("wrong")), "WorkerSinkTask").splitlines()
    assert lines[0] == (
        "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask due to unrecoverable exception."
    )


def test_what_caused_an_error_is_shown() -> None:
    try:
        try:
            raise OSError("disk full")
        except OSError as error:
            raise ConnectError("cannot write") from error
    except ConnectError as caught:
        text = failure_trace(caught, "WorkerSourceTask")
    assert "OSError: disk full" in text
    assert "direct cause" in text
