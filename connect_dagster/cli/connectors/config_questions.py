"""Questions that complete a connector's configuration: those that its validation leaves open. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from connect_dagster.client.types import ConfigValidation, ValidatedKey

Config = dict[str, str | None]
Validate = Callable[[Mapping[str, str | None]], ConfigValidation]


@dataclass(frozen=True, slots=True)
class Question:
    """An option that needs a value.

    Attributes:
        key: name of the option.
        errors: why validation refuses the current value; none for an option that the user wants to be asked for.
        type: of the option, as Kafka Connect names it; empty for an option that the plugin does not define.
        documentation: what it means.
        recommended: values that the plugin recommends.
        default: value without an answer.
        is_missing: whether it is required and has no value, which is all that its errors say.
    """

    key: str
    errors: tuple[str, ...] = ()
    type: str = ""
    documentation: str = ""
    recommended: tuple[str, ...] = ()
    default: str | None = None
    is_missing: bool = False

    @property
    def is_secret(self) -> bool:
        """Return True if the answer must not be seen."""
        return self.type == "PASSWORD"


Ask = Callable[[Question, Mapping[str, str | None]], str]


def open_questions(validation: ConfigValidation, wished: Collection[str] = ()) -> list[Question]:
    """Return the options that validation refuses, then those of ``wished``, each in the order of the plugin."""
    found = list(_questions(validation))
    return [
        *(question for question in found if question.errors),
        *(question for question in found if question.key in wished and not question.errors),
    ]


def complete_config(
    config: Mapping[str, str | None], validate: Validate, ask: Ask, wished: Collection[str] = ()
) -> Config:
    """Return the configuration with answers to its open questions, valid as a whole.

    Each answer is validated before the next question: one answer may settle several errors. An empty answer removes
    the option, and leads to the next open question.

    Args:
        config: with ``connector.class``.
        validate: validates a configuration.
        ask: returns the answer to a question about the configuration so far.
        wished: options to ask for in any case, once.
    """
    found, skipped, waiting = dict(config), set[str](), set(wished)
    while questions := open_questions(validate(found), waiting):
        left = [question for question in questions if question.key not in skipped]
        if not left:
            skipped.clear()
            continue
        key = left[0].key
        waiting.discard(key)
        if answer := ask(left[0], found):
            found[key] = answer
            skipped.clear()
        else:
            found.pop(key, None)
            skipped.add(key)
    return found


def _questions(validation: ConfigValidation) -> Iterator[Question]:
    for one in validation.configs:
        key = one.value.name if one.value else one.definition.name if one.definition else None
        if key is not None:
            yield _question(key, one)


def _question(key: str, one: ValidatedKey) -> Question:
    definition, value = one.definition, one.value
    recommended = tuple(each for each in value.recommended_values if each) if value else ()
    errors = value.errors if value else ()
    if definition is None:
        return Question(key, errors, recommended=recommended)
    return Question(
        key,
        errors,
        definition.type,
        definition.documentation or "",
        recommended,
        definition.default_value,
        is_missing=definition.required and bool(errors) and (value is None or value.value is None),
    )
