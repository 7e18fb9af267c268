"""Configuration definitions as pydantic models, whose fields are configuration keys.

Example:
    >>> class LinesConfig(ConfigDef):
    ...     topic: str = config_key("topic", importance=Importance.HIGH, doc="Topic of the lines.")
    ...     with config_group("Batches", width=Width.SHORT):
    ...         batch_size: int = config_key("batch.size", default=2000, doc="Lines in one batch.")
    ...         linger_ms: int = config_key("linger.ms", type=Type.LONG, default=0, doc="Time to wait for lines.")
    >>> LinesConfig.parse({"topic": "lines"}).batch_size
    2000
    >>> [(key.type.value, key.group, key.order_in_group) for key in LinesConfig.keys()]
    [('STRING', None, -1), ('INT', 'Batches', 1), ('LONG', 'Batches', 2)]
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config.infos import key_info
from connect_dagster.plugin.config.keys import (
    NO_DEFAULT,
    ConfigKey,
    ConfigValue,
    Importance,
    Password,
    Recommender,
    Type,
    Validator,
    Width,
)
from connect_dagster.plugin.config.table import ConfigTable, Properties
from connect_dagster.plugin.config.values import FindClass

_TYPES: Mapping[Any, Type] = {
    bool: Type.BOOLEAN,
    str: Type.STRING,
    int: Type.INT,
    float: Type.DOUBLE,
    Password: Type.PASSWORD,
    tuple: Type.LIST,
}


@dataclass(slots=True)
class _Group:
    """A group of a form while its keys are declared."""

    name: str
    importance: Importance
    width: Width
    next_order: int

    def take(self, order: int | None) -> int:
        """Return the order of the next key, and count on from there."""
        taken = self.next_order if order is None else order
        self.next_order = taken + 1
        return taken


_group: ContextVar[_Group | None] = ContextVar("config_group", default=None)


@contextmanager
def config_group(
    name: str, *, importance: Importance = Importance.MEDIUM, width: Width = Width.NONE, first: int = 1
) -> Iterator[None]:
    """Put the keys declared in the block into a group of the form, in their order.

    Args:
        name: shown above the group.
        importance: of the keys that give none.
        width: of the keys that give none.
        first: order of the first key.
    """
    before = _group.set(_Group(name, importance, width, first))
    try:
        yield
    finally:
        _group.reset(before)


@dataclass(frozen=True, slots=True)
class _Declared:
    """Carries the key within pydantic's field, and describes it in the model's JSON schema."""

    key: ConfigKey
    type: Type | None

    def __call__(self, schema: dict[str, Any]) -> None:
        schema.update(title=self.key.display_name, importance=self.key.importance.value.lower())

    def typed(self, annotation: Any) -> ConfigKey:
        """Return the key with its own type, or else that of the field."""
        if self.type is not None:
            return self.key
        return replace(self.key, type=_type_of(self.key.name, annotation))


def config_key(
    name: str,
    *,
    type: Type | None = None,
    default: Any = NO_DEFAULT,
    importance: Importance | None = None,
    doc: str = "",
    validator: Validator | None = None,
    order_in_group: int | None = None,
    width: Width | None = None,
    display_name: str = "",
    dependents: Sequence[str] = (),
    recommender: Recommender | None = None,
) -> Any:
    """Declare a field of a :class:`ConfigDef`; without a default the key is required.

    The field's annotation gives the type: ``str``, ``bool``, ``int``, ``float`` (DOUBLE), ``tuple[str, ...]`` (LIST)
    or ``Password``, each also with ``| None``. ``SHORT``, ``LONG`` and ``CLASS``, a ``str``, are named with ``type``.
    Within a :func:`config_group` the key belongs to that group.

    Raises:
        ConfigError: the default does not pass the validator.
    """
    group = _group.get()
    key = ConfigKey(
        name,
        type or Type.STRING,
        default,
        importance or (Importance.MEDIUM if group is None else group.importance),
        doc,
        validator,
        None if group is None else group.name,
        -1 if group is None else group.take(order_in_group),
        width or (Width.NONE if group is None else group.width),
        display_name,
        tuple(dependents),
        recommender,
    )
    extra = _Declared(key, type)
    if key.required:
        return Field(alias=name, description=doc, json_schema_extra=extra)
    return Field(default=key.default, alias=name, description=doc, json_schema_extra=extra)


def _type_of(name: str, annotation: Any) -> Type:
    alternatives = get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)
    found = {_TYPES.get(get_origin(one) or one) for one in alternatives if one is not types.NoneType}
    kind = found.pop() if len(found) == 1 else None
    if kind is None:
        raise TypeError(f"The annotation of {name} is not that of one type of configuration values: pass type=")
    return kind


class ConfigDef(BaseModel):
    """A plugin's configuration: subclass it, with one :func:`config_key` for each key.

    Checks that need several values are a pydantic ``model_validator(mode="after")`` that raises
    ``ConfigError.invalid(name, value, reason)``; it runs when each value is valid by itself.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, arbitrary_types_allowed=True)

    _table: ClassVar[ConfigTable]
    _originals: dict[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def table(cls) -> ConfigTable:
        """Return the definition as a table of keys, in the order of the fields."""
        if "_table" not in cls.__dict__:
            fields = [(field.json_schema_extra, field.annotation) for field in cls.model_fields.values()]
            keys = (extra.typed(annotation) for extra, annotation in fields if isinstance(extra, _Declared))
            cls._table = ConfigTable(tuple(keys))
        return cls._table

    @classmethod
    def keys(cls) -> tuple[ConfigKey, ...]:
        """Return the keys, in the order of the fields."""
        return cls.table().keys

    @classmethod
    def key_infos(cls) -> list[dict[str, Any]]:
        """Return the keys as the REST API lists them (Java: ``ConfigKeyInfo``)."""
        return [key_info(key) for key in cls.table()]

    @classmethod
    def parse(cls, props: Properties, find_class: FindClass | None = None) -> Self:
        """Return the configuration of some properties; unknown keys stay in ``originals``.

        Args:
            props: the properties as the user wrote them.
            find_class: finds classes for keys of ``Type.CLASS``.

        Raises:
            ConfigError: the first value that is missing or wrong, with Kafka's text.
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
        """Return the checked value of each key with all its errors; never raises for a user's error.

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
        """Return the properties as they were given, unknown keys included, without nulls."""
        return self._originals

    def with_prefix(self, prefix: str) -> dict[str, str]:
        """Return the given properties whose names begin with the prefix, without it."""
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
    """Convert pydantic's errors into Kafka's form; ``ValueError`` of a check over several values keeps its text."""
    return [_config_error(found["loc"], found["msg"], values) for found in error.errors()]


def _config_error(where: tuple[int | str, ...], text: str, values: Mapping[str, Any]) -> ConfigError:
    reason = text.removeprefix("Value error, ")
    if not where:
        return ConfigError(reason)
    name = str(where[0])
    return ConfigError.invalid(name, values.get(name), reason)


V = TypeVar("V")


def under_prefix(properties: Mapping[str, V], prefix: str) -> dict[str, V]:
    """Return the properties under a prefix such as ``producer.override.``, without it, in their order (Java:
    ``AbstractConfig.originalsWithPrefix``).
    """
    return {
        name.removeprefix(prefix): value
        for name, value in properties.items()
        if name.startswith(prefix) and name != prefix
    }
