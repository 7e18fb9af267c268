"""What can go wrong in Kafka Connect, named by how the caller reacts.

ConnectError             a task or connector that meets it is FAILED; REST 500
├── RetriableError       the same call will be made again
├── DataError            a record or schema cannot be converted; errors.tolerance decides
├── ConfigError          a configuration value is wrong; the user edits it
├── NotFoundError        no such connector, task, plugin, logger; REST 404
├── AlreadyExistsError   the name is taken; REST 409
└── RestError            carries the REST status itself
    └── BadRequestError  the request is wrong as it stands; REST 400

Each class knows the Java class it stands for: status traces begin with its name, and people search for it.
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
        """The ``error_code`` of the REST error body; Kafka Connect always repeats the status."""
        return self.status


class RetriableError(ConnectError):
    """The operation may work when it is tried again (Java: ``RetriableException``)."""

    java_name = "org.apache.kafka.connect.errors.RetriableException"


class DataError(ConnectError):
    """A record or a schema is not what it should be (Java: ``DataException``)."""

    java_name = "org.apache.kafka.connect.errors.DataException"


class ConfigError(ConnectError):
    """A configuration value is missing or wrong (Java: ``ConfigException``).

    Args:
        message: the whole text.
        name: the configuration key, when one key is to blame.
        value: what was given for it.
    """

    java_name = "org.apache.kafka.common.config.ConfigException"

    def __init__(self, message: str, *, name: str | None = None, value: Any = None) -> None:
        super().__init__(message)
        self.name = name
        self.value = value

    @classmethod
    def invalid(cls, name: str, value: Any, reason: str | None = None) -> ConfigError:
        """The error in Kafka's words: ``Invalid value X for configuration Y: reason``."""
        message = f"Invalid value {java_text(value)} for configuration {name}"
        return cls(f"{message}: {reason}" if reason else message, name=name, value=value)

    @classmethod
    def missing(cls, name: str, alike: str | None = None) -> ConfigError:
        """The error for a required key that is not there; ``alike`` is one that was perhaps given in its place."""
        hint = "" if alike is None else f' There is "{alike}": was "{name}" meant?'
        return cls(f'Missing required configuration "{name}" which has no default value.{hint}', name=name)

    @property
    def message(self) -> str:
        """The text, as in Java's ``getMessage``."""
        return str(self)


class NotFoundError(ConnectError):
    """What was asked for does not exist (Java: ``NotFoundException``)."""

    java_name = "org.apache.kafka.connect.errors.NotFoundException"
    status = 404


class AlreadyExistsError(ConnectError):
    """What was to be created exists (Java: ``AlreadyExistsException``)."""

    java_name = "org.apache.kafka.connect.errors.AlreadyExistsException"
    status = 409


class RestError(ConnectError):
    """An answer of the REST API that is not a success (Java: ``ConnectRestException``).

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
    """A configuration value as Java prints it inside a message (``null``, ``true``, ``[a, b]``)."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(java_text(item) for item in value) + "]"
    return str(value)
