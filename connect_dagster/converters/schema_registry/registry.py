"""The registry as converters see it: schemas by id, and the id to write a schema with.

Java: ``AbstractKafkaSchemaSerDe`` and ``CachedSchemaRegistryClient``. What was answered once is kept.
"""

from __future__ import annotations

import ssl
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from connect_dagster.converters.schema_registry.config import (
    RECORD_NAME,
    TOPIC_NAME,
    SchemaRegistryConfig,
    client_settings,
    tls_context,
)
from connect_dagster.errors import ConfigError, ConnectError, DataError, RetriableError

AVRO, PROTOBUF, JSON_SCHEMA = "AVRO", "PROTOBUF", "JSON"


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one uses: the name it has there, and where it lies."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema of the registry.

    Attributes:
        id: its number there, which records carry.
        type: ``AVRO``, ``PROTOBUF`` or ``JSON``.
        text: the schema itself.
    """

    id: int
    type: str
    text: str
    references: tuple[Reference, ...] = ()


class SchemaRegistry:
    """One converter's access to the registry.

    Every method that may request the server raises RetriableError when it does not respond or fails, and DataError
    with its text when it refuses; both name its address.

    Args:
        config: the converter's options.
        is_key: whether it converts keys.

    Raises:
        ConfigError: the options do not fit together.
    """

    def __init__(self, config: SchemaRegistryConfig, *, is_key: bool) -> None:
        self._config = config
        self._side = "key" if is_key else "value"
        self._strategy = config.key_strategy if is_key else config.value_strategy
        self._address = ", ".join(map(_without_credentials, config.urls))
        self._written: dict[str, dict[tuple[Any, ...], RegisteredSchema]] = defaultdict(dict)
        try:
            self._client = _client(client_settings(config), tls_context(config))
        except (ValueError, OSError) as error:  # a wrong address or key; ssl's errors are OSErrors
            raise ConfigError(f"The schema registry at {self._address} cannot be used: {error}") from error

    def schema(self, id: int) -> RegisteredSchema:
        """Return the schema with this id."""
        with self._asking(f"Schema {id} cannot be had"):
            return _registered(id, self._client.get_schema(id))

    def version(self, id: int) -> int | None:
        """Return the version of the schema with this id; ``None`` where it has none, or several in several subjects."""
        with self._asking(f"Versions of schema {id} cannot be had"):
            found = {one.version for one in self._client.get_schema_versions(id)}
        return found.pop() if len(found) == 1 else None

    def referenced(self, reference: Reference) -> RegisteredSchema:
        """Return the schema that a reference means."""
        with self._asking(f"Version {reference.version} of subject {reference.subject} cannot be had"):
            found = self._client.get_version(reference.subject, reference.version)
            return _registered(found.schema_id, found.schema)

    def to_write(
        self, topic: str, record_name: str | None, text: str, type: str, references: Sequence[Reference] = ()
    ) -> RegisteredSchema:
        """Return the schema to write records of a topic with; the given one, unless options select another.

        Args:
            topic: where the records go, after all transforms.
            record_name: full name of the schema; ``None`` where it has none.
            text: the schema.
            type: ``AVRO``, ``PROTOBUF`` or ``JSON``.
            references: what the schema uses.

        Raises:
            DataError: the registry refuses the schema, or has none; the strategy needs a name and there is none.
            RetriableError: the registry does not respond.
            ConnectError: the subject had more schemas than ``max.schemas.per.subject``.
        """
        subject = self.subject(topic, record_name)
        known = self._written[subject]
        wanted = (text, type, tuple(references))
        if wanted not in known:
            if len(known) >= self._config.max_schemas:
                raise ConnectError(f"Too many schema objects created for subject {subject}!")
            known[wanted] = self._to_write(subject, text, type, tuple(references))
        return known[wanted]

    def subject(self, topic: str, record_name: str | None) -> str:
        """Return the name under which the registry keeps the versions of a schema (Java: ``SubjectNameStrategy``).

        Raises:
            DataError: the strategy needs the name of a record.
        """
        if self._strategy == TOPIC_NAME:
            return f"{topic}-{self._side}"
        if record_name is None:
            raise DataError(
                f"In configuration {self._side}.subject.name.strategy = {self._strategy}, "
                f"the message {self._side} must only be a record schema"
            )
        return record_name if self._strategy == RECORD_NAME else f"{topic}-{record_name}"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _to_write(self, subject: str, text: str, type: str, references: tuple[Reference, ...]) -> RegisteredSchema:
        config, schema = self._config, _unregistered(text, type, references)
        if config.auto_register:
            with self._asking(f"Registering the schema {text} for subject {subject} failed"):
                return RegisteredSchema(
                    self._client.register_schema(subject, schema, config.normalize), type, text, references
                )
        if config.use_schema_id >= 0:
            return self.schema(config.use_schema_id)
        if config.use_latest:
            return self._latest(subject, schema)
        with self._asking(f"Looking for the schema {text} in subject {subject} failed"):
            found = self._client.lookup_schema(subject, schema, config.normalize)
            return RegisteredSchema(_id(found), type, text, references)

    def _latest(self, subject: str, schema: Any) -> RegisteredSchema:
        with self._asking(f"The latest version of subject {subject} cannot be had"):
            found = self._client.get_latest_version(subject)
            latest = _registered(_id(found), found.schema)
            if self._config.latest_strict and not self._client.test_compatibility(subject, schema):
                raise DataError(
                    f"Incompatible schema {latest.text}; set latest.compatibility.strict=false to disable this check"
                )
        return latest

    @contextmanager
    def _asking(self, what: str) -> Iterator[None]:
        import httpx2
        from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError

        where = f"schema registry at {self._address}"
        try:
            yield
        except SchemaRegistryError as error:
            if error.http_status_code >= 500 or error.http_status_code in (408, 429):
                raise RetriableError(f"{what}: the {where} answers {error}") from error
            raise DataError(
                f"{what}: the {where} answers: {error.error_message}; error code: {error.error_code}"
            ) from error
        except (httpx2.HTTPError, OAuthTokenError, OSError) as error:
            raise RetriableError(f"{what}: the {where} does not answer: {error}") from error


def _client(settings: dict[str, Any], context: ssl.SSLContext | None) -> Any:
    # Here, as importing it takes long and most workers need none.
    from confluent_kafka.schema_registry import SchemaRegistryClient

    client = SchemaRegistryClient(settings)
    if context is not None:
        # The client's own settings of TLS know neither suites nor versions, and keys in files alone.
        rest: Any = client._rest_client
        rest.session.close()
        rest.session = type(rest.session)(verify=context, auth=rest.auth, proxy=rest.proxy, timeout=rest.timeout)
    return client


def _unregistered(text: str, type: str, references: tuple[Reference, ...]) -> Any:
    from confluent_kafka.schema_registry import Schema, SchemaReference

    uses = [SchemaReference(one.name, one.subject, one.version) for one in references]
    return Schema(text, type, uses)


def _registered(id: int, schema: Any) -> RegisteredSchema:
    uses = tuple(Reference(one.name, one.subject, one.version) for one in schema.references or ())
    return RegisteredSchema(id, schema.schema_type or AVRO, schema.schema_str, uses)


def _id(found: Any) -> int:
    assert isinstance(found.schema_id, int)
    return found.schema_id


def _without_credentials(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
