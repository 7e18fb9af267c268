"""The exception tree: statuses, Java names, Kafka's texts."""

import pytest

from connect_dagster import errors
from connect_dagster.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConfigError,
    ConnectError,
    DataError,
    NotFoundError,
    RestError,
    RetriableError,
)


@pytest.mark.parametrize(
    ("error", "java_name", "status"),
    [
        (ConnectError("x"), "org.apache.kafka.connect.errors.ConnectException", 500),
        (RetriableError("x"), "org.apache.kafka.connect.errors.RetriableException", 500),
        (DataError("x"), "org.apache.kafka.connect.errors.DataException", 500),
        (ConfigError("x"), "org.apache.kafka.common.config.ConfigException", 500),
        (NotFoundError("x"), "org.apache.kafka.connect.errors.NotFoundException", 404),
        (AlreadyExistsError("x"), "org.apache.kafka.connect.errors.AlreadyExistsException", 409),
        (RestError(403, "x"), "org.apache.kafka.connect.runtime.rest.errors.ConnectRestException", 403),
        (BadRequestError("x"), "org.apache.kafka.connect.runtime.rest.errors.BadRequestException", 400),
    ],
)
def test_each_error_knows_its_java_class_and_status(error: ConnectError, java_name: str, status: int) -> None:
    assert (type(error).java_name, error.status, error.error_code, str(error)) == (
        java_name,
        status,
        status,
        "x",
    )


def test_the_drawn_tree_is_the_tree() -> None:
    classes = {n for n, c in vars(errors).items() if isinstance(c, type) and issubclass(c, ConnectError)}
    assert errors.__doc__ is not None
    drawn = {word for word in errors.__doc__.split() if word.endswith("Error")}
    assert drawn == classes


@pytest.mark.parametrize(
    ("value", "text"),
    [("abc", "abc"), ("", ""), (None, "null"), (True, "true"), (3, "3"), (["a", "b"], "[a, b]")],
)
def test_invalid_value_in_kafkas_words(value: object, text: str) -> None:
    error = ConfigError.invalid("batch.size", value, "Not a number of type INT")
    assert error.message == f"Invalid value {text} for configuration batch.size: Not a number of type INT"
    assert (error.name, error.value) == ("batch.size", value)


def test_invalid_value_without_reason() -> None:
    assert str(ConfigError.invalid("a", "b")) == "Invalid value b for configuration a"


def test_missing_value_in_kafkas_words() -> None:
    expected = 'Missing required configuration "topic" which has no default value.'
    assert str(ConfigError.missing("topic")) == expected
