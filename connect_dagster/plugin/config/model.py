"""The typed face of a configuration definition: a pydantic model whose fields are configuration keys.

Example:
    >>> class LinesConfig(ConfigDef):
    ...     topic: str = config_key("topic", type=Type.STRING, importance=Importance.HIGH, doc="Where lines go.")
    ...     batch_size: int = config_key("batch.size", type=Type.INT, default=2000, doc="Lines in one batch.")
    >>> LinesConfig.parse({"topic": "lines"}).batch_size
    2000
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config.infos import key_info
from connect_dagster.plugin.config.keys import (
    NO_DEFAULT,
    ConfigKey,
    ConfigValue,
    Importance,
    Recommender,
    Type,
    Validator,
    Width,
)
from connect_dagster.plugin.config.prefixes import under_prefix
from connect_dagster.plugin.config.table import ConfigTable, Properties
from connect_dagster.plugin.config.values import FindClass


@dataclass(frozen=True, slots=True)
class _Declared:
    """Carries the key within pydantic's field, and describes it in the model's JSON schema."""

    key: ConfigKey

    def __call__(self, schema: dict[str, Any]) -> None:
        schema.update(title=self.key.display_name, importance=self.key.importance.value.lower())


def config_key(
    name: str,
    *,
    type: Type,
    default: Any = NO_DEFAULT,
    importance: Importance = Importance.MEDIUM,
    doc: str = "",
    validator: Validator | None = None,
    group: str | None = None,
    order_in_group: int = -1,
    width: Width = Width.NONE,
    display_name: str = "",
    dependents: Sequence[str] = (),
    recommender: Recommender | None = None,
) -> Any:
    """Declare a field of a :class:`ConfigDef`; without a default the key is required.

    A ``LIST`` is a ``tuple[str, ...]``, a ``PASSWORD`` a ``Password``, a ``CLASS`` a ``str``.

    Raises:
        ConfigError: the default does not pass the validator.
    """
    key = ConfigKey(
        name,
        type,
        default,
        importance,
        doc,
        validator,
        group,
        order_in_group,
        width,
        display_name,
        tuple(dependents),
        recommender,
    )
    extra = _Declared(key)
    if key.required:
        return Field(alias=name, description=doc, json_schema_extra=extra)
    return Field(default=key.default, alias=name, description=doc, json_schema_extra=extra)


class ConfigDef(BaseModel):
    """A plugin's configuration: subclass it, with one :func:`config_key` for each key.

    Checks that need several values are a pydantic ``model_validator(mode="after")`` that raises
    ``ConfigError.invalid(name, value, reason)``; it runs when the values are right one by one.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, arbitrary_types_allowed=True)

    _originals: dict[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def table(cls) -> ConfigTable:
        """The definition as a table of keys, in the order of the fields."""
        extras = (field.json_schema_extra for field in cls.model_fields.values())
        return ConfigTable(tuple(extra.key for extra in extras if isinstance(extra, _Declared)))

    @classmethod
    def keys(cls) -> tuple[ConfigKey, ...]:
        """The keys, in the order of the fields."""
        return cls.table().keys

    @classmethod
    def key_infos(cls) -> list[dict[str, Any]]:
        """The keys as the REST API lists them (Java: ``ConfigKeyInfo``)."""
        return [key_info(key) for key in cls.table()]

    @classmethod
    def parse(cls, props: Properties, find_class: FindClass | None = None) -> Self:
        """The configuration from its properties; unknown keys are left to ``originals``.

        Args:
            props: the properties as the user wrote them.
            find_class: finds classes for keys of ``Type.CLASS``.

        Raises:
            ConfigError: the first value that is missing or wrong, in Kafka's words.
        """
        values = cls.table().parse(props, find_class)
        try:
            parsed = cls.model_validate(values)
        except ValidationError as error:
            raise _config_errors(error, values)[0] from error
        parsed._originals.update((name, value) for name, value in props.items() if value is not None)
        return parsed

    @classmethod
    def validate_all(cls, props: Properties, find_class: FindClass | None = None) -> list[ConfigValue]:
        """What became of each key, with all errors; never raises for what the user wrote.

        An error of a ``model_validator`` that names no key of the definition goes to the first one.
        """
        values = cls.table().validate_all(props, find_class)
        if values and not any(value.errors for value in values):
            by_name = {value.name: value for value in values}
            for error in cls._model_errors({value.name: value.value for value in values}):
                by_name.get(error.name or "", values[0]).errors.append(error.message)
        return values

    @property
    def originals(self) -> Mapping[str, str]:
        """The properties as they were given, unknown keys included, nulls left out."""
        return self._originals

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """Given properties whose names begin with the prefix, without it."""
        return under_prefix(self._originals, prefix)

    @classmethod
    def _model_errors(cls, values: Mapping[str, Any]) -> list[ConfigError]:
        try:
            cls.model_validate(values)
        except ValidationError as error:
            return _config_errors(error, values)
        except ConfigError as error:
            return [error]
        return []


def _config_errors(error: ValidationError, values: Mapping[str, Any]) -> list[ConfigError]:
    """What pydantic says, in Kafka's form; ``ValueError`` of a check over several values keeps its text."""
    return [_config_error(found["loc"], found["msg"], values) for found in error.errors()]


def _config_error(where: tuple[int | str, ...], text: str, values: Mapping[str, Any]) -> ConfigError:
    reason = text.removeprefix("Value error, ")
    if not where:
        return ConfigError(reason)
    name = str(where[0])
    return ConfigError.invalid(name, values.get(name), reason)
