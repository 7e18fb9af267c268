"""Errors of Kafka Connect, named by the reaction of the caller.

ConnectError             the task or connector is FAILED; REST 500
├── RetriableError       the caller makes the same call again
│   └── RewindError      the worker drops polled records, and has the task go back
├── DataError            a record or schema cannot be converted; errors.tolerance decides
├── ConfigError          a configuration value is wrong; the user edits it
├── NotFoundError        the connector, task, plugin or logger does not exist; REST 404
├── AlreadyExistsError   the name is taken; REST 409
└── RestError            carries the REST status itself
    └── BadRequestError  the request is wrong as it stands; REST 400

Each class has the name of its Java class: traces in statuses begin with it, and users search for it.
"""

from __future__ import annotations

from typing import Any, ClassVar


class ConnectError(Exception):
    """Base of all errors that Kafka Connect reports (Java: ``ConnectException``).

    Attributes:
        java_name: the Java class that status traces name.
        status: HTTP status when the error reaches the REST API (Java: ``ConnectExceptionMapper``).
    """

    java_name: ClassVar[str] = "org.apache.kafka.connect.errors.ConnectException"
    status: int = 500

    @property
    def error_code(self) -> int:
        """Return the ``error_code`` of the REST error body; Kafka Connect always repeats the status."""
        return self.status


class RetriableError(ConnectError):
    """The operation may work when it is tried again (Java: ``RetriableException``)."""

    java_name = "org.apache.kafka.connect.errors.RetriableException"


class RewindError(RetriableError):
    """Records that a source task has polled cannot be read now, but others can.

    Raised where the frame of a batch is read: the worker drops the batch and those polled after it, and calls
    :meth:`~connect_dagster.plugin.connector.SourceTask.rewind`.
    """


class DataError(ConnectError):
    """A record or a schema is invalid (Java: ``DataException``)."""

    java_name = "org.apache.kafka.connect.errors.DataException"


class ConfigError(ConnectError):
    """A configuration value is missing or wrong (Java: ``ConfigException``).

    Args:
        message: the whole text.
        name: the invalid configuration key, if it is one key.
        value: its value.
    """

    java_name = "org.apache.kafka.common.config.ConfigException"

    def __init__(self, message: str, *, name: str | None = None, value: Any = None) -> None:
        super().__init__(message)
        self.name = name
        self.value = value

    @classmethod
    def invalid(cls, name: str, value: Any, reason: str | None = None) -> ConfigError:
        """Return the error with Kafka's text: ``Invalid value X for configuration Y: reason``."""
        message = f"Invalid value {java_text(value)} for configuration {name}"
        return cls(f"{message}: {reason}" if reason else message, name=name, value=value)

    @classmethod
    def missing(cls, name: str, alike: str | None = None) -> ConfigError:
        """Return the error for a missing required key; ``alike`` is a similar key that was given."""
        hint = "" if alike is None else f' There is "{alike}": was "{name}" meant?'
        return cls(f'Missing required configuration "{name}" which has no default value.{hint}', name=name)

    @property
    def message(self) -> str:
        """Return the text, as Java's ``getMessage``."""
        return str(self)


class NotFoundError(ConnectError):
    """The connector, task, plugin or topic does not exist (Java: ``NotFoundException``)."""

    java_name = "org.apache.kafka.connect.errors.NotFoundException"
    status = 404


class AlreadyExistsError(ConnectError):
    """The name is taken (Java: ``AlreadyExistsException``)."""

    java_name = "org.apache.kafka.connect.errors.AlreadyExistsException"
    status = 409


class RestError(ConnectError):
    """A response of the REST API that is not a success (Java: ``ConnectRestException``).

    Args:
        status: HTTP status.
        message: text of the error body.
    """

    java_name = "org.apache.kafka.connect.runtime.rest.errors.ConnectRestException"

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class BadRequestError(RestError):
    """The request cannot be carried out as it is written (Java: ``BadRequestException``)."""

    java_name = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException"

    def __init__(self, message: str) -> None:
        super().__init__(400, message)


def java_text(value: Any) -> str:
    """Return a configuration value as Java prints it in messages (``null``, ``true``, ``[a, b]``)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(java_text(item) for item in value) + "]"
    return str(value)
