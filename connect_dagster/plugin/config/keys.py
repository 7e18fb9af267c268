"""One row of a configuration definition, and one checked value (Java: ``ConfigKey``, ``ConfigValue``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

Validator = Callable[[str, Any], None]
"""Checks a parsed value: called with the key's name and the value, raises ConfigError."""


class Type(Enum):
    """Types of parsed values: bool, str, int, int, int, float, tuple of str, name of a class, Password."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class Importance(Enum):
    """Importance of a key to users."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(Enum):
    """Width of the input field in a form."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


class NoDefault(Enum):
    """The type of :data:`NO_DEFAULT`, because ``None`` is a valid default."""

    NO_DEFAULT = "NO_DEFAULT"


NO_DEFAULT: Final = NoDefault.NO_DEFAULT
"""Default of a key that must be given."""


@dataclass(frozen=True, slots=True)
class Password:
    """A value that logs and REST responses must not show."""

    value: str

    def __str__(self) -> str:
        return "[hidden]"

    __repr__ = __str__


def _always(name: str, parsed: Mapping[str, Any]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Recommender:
    """Proposes values for a form (Java: ``ConfigDef.Recommender``).

    Attributes:
        values: from the key's name and all parsed values, the values that make sense.
        visible: from the same, whether the form should show the key.
    """

    values: Callable[[str, Mapping[str, Any]], Sequence[Any]]
    visible: Callable[[str, Mapping[str, Any]], bool] = _always


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key that a configuration may have.

    Attributes:
        default: the parsed default, ``NO_DEFAULT`` when the key is required.
        order_in_group: place in a form's group, from 1; -1 without a group.
        display_name: label in a form; the name unless given.
        dependents: keys whose recommended values depend on this one.
    """

    name: str
    type: Type
    default: Any = NO_DEFAULT
    importance: Importance = Importance.MEDIUM
    documentation: str = ""
    validator: Validator | None = None
    group: str | None = None
    order_in_group: int = -1
    width: Width = Width.NONE
    display_name: str = ""
    dependents: tuple[str, ...] = ()
    recommender: Recommender | None = None

    def __post_init__(self) -> None:
        if not self.display_name:
            object.__setattr__(self, "display_name", self.name)
        if isinstance(self.default, list):
            object.__setattr__(self, "default", tuple(self.default))
        if self.validator is not None and not self.required:
            self.validator(self.name, self.default)

    @property
    def required(self) -> bool:
        """Return whether the key has no default."""
        return self.default is NO_DEFAULT


@dataclass(slots=True)
class ConfigValue:
    """The checked value of one key; later checks add their errors to it."""

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True
