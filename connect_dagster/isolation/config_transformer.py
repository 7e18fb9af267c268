"""Placeholders in configurations, ``${provider:path:key}``, and their values from config providers (KIP-297).

Java: ``ConfigTransformer``, ``WorkerConfigTransformer``, ``AbstractHerder.reverseTransform``. Configurations are
stored, compared and shown as they were written; only what goes to a plugin is transformed, and none of that is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from connect_dagster.client.masking import secrets_of
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.isolation.hidden_values import HiddenValues
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.config import Type, parse_value, under_prefix
from connect_dagster.plugin.config_provider import ConfigData, ConfigProvider

log = logging.getLogger(__name__)

PROVIDERS = "config.providers"
Text = TypeVar("Text", str, str | None)
_Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One placeholder in a text.

    Attributes:
        start: index of its ``$``.
        text: as it is written, ``${provider:path:key}`` or ``${provider:key}``.
        provider: name of the config provider; may be empty.
        path: empty where none is written.
        key: may contain colons where a path is written.
    """

    start: int
    text: str
    provider: str
    path: str
    key: str


def placeholders(text: str) -> Iterator[Placeholder]:
    """Yield the placeholders of a text in their order, in time that grows with its length.

    These are the matches of the expression in Java's ``ConfigTransformer``, whose own time grows with the third power.
    """
    end = 0
    while (start := text.find("${", end)) >= 0 and (closing := text.find("}", start)) >= 0:
        end = closing + 1
        provider, colon, rest = text[start + 2 : closing].partition(":")
        if colon:
            path, second, key = rest.partition(":")
            path, key = (path, key) if second else ("", path)
            yield Placeholder(start, text[start:end], provider, path, key)


@dataclass(frozen=True, slots=True)
class Transformed(Generic[Text]):
    """A configuration on its way to a plugin.

    Attributes:
        config: with values in place of the placeholders that a provider knows.
        resolved: these values, by placeholder.
        ttl_ms: milliseconds until the first of the values expires; ``None`` for never.
    """

    config: dict[str, Text]
    resolved: dict[str, str]
    ttl_ms: int | None


@dataclass(frozen=True, slots=True)
class LookUp:
    """Values of placeholders at a time.

    Attributes:
        values: by placeholder, as far as the providers know them.
        errors: by placeholder, the text of the error of a provider that failed.
    """

    values: Mapping[str, str]
    errors: Mapping[str, str]


class ConfigTransformer:
    """Puts values in place of placeholders; may be asked by several threads at once.

    Args:
        providers: by the name that placeholders have for them.

    Attributes:
        hidden: the values that went to plugins, and the secrets beside them.
    """

    def __init__(self, providers: Mapping[str, ConfigProvider]) -> None:
        self._providers = providers
        self.hidden = HiddenValues()

    @classmethod
    def of(cls, worker: Mapping[str, str], plugins: Plugins) -> Self:
        """Return the transformer with the providers of a worker; options of one may be placeholders of those before it.

        Args:
            worker: the worker's properties as they were written.
            plugins: where classes are found.

        Raises:
            ConfigError: a provider's class is none, or it refuses its options; names the provider.
        """
        made: dict[str, ConfigProvider] = {}
        for name in parse_value(PROVIDERS, worker.get(PROVIDERS, ""), Type.LIST):
            prefix = f"{PROVIDERS}.{name}."
            own = {key: value for key, value in worker.items() if key.startswith(prefix)}
            if f"{prefix}class" in own:
                made[name] = _provider(name, cls(made).transform(own).config, plugins)
            else:
                log.warning("Config provider '%s' has no %sclass: ${%s:...} stays as it is", name, prefix, name)
        return cls(made)

    def transform(self, config: Mapping[str, Text], secret_keys: Collection[str] = ()) -> Transformed[Text]:
        """Return :meth:`resolve` of a configuration that goes to a plugin, and hide its values from now on.

        Args:
            config: as it was written.
            secret_keys: its secret keys, in addition to those with a secret name.
        """
        transformed = self.resolve(config)
        self.hidden.add(transformed.resolved, secrets_of(transformed.config, secret_keys))
        return transformed

    def resolve(self, config: Mapping[str, Text]) -> Transformed[Text]:
        """Return the configuration with what providers know now; all other placeholders stay as they are.

        Values are put in once: what looks like a placeholder in them is none.

        Raises:
            ConfigError: a provider failed; names placeholder and key.
        """
        answers = {place: self._ask(place, uses) for place, uses in self._uses(config).items()}

        resolved: dict[str, str] = {}

        def value_of(found: Placeholder) -> str:
            answer = answers.get(_place(found))
            if answer is None or found.key not in answer.values:
                return found.text
            return resolved.setdefault(found.text, answer.values[found.key])

        transformed = {name: _replaced(value, value_of) if value else value for name, value in config.items()}
        ttls = [answer.ttl_ms for answer in answers.values() if answer.ttl_ms is not None and answer.ttl_ms >= 0]
        return Transformed(transformed, resolved, min(ttls, default=None))

    def polled_placeholders(self, configs: Iterable[Mapping[str, str]]) -> frozenset[str]:
        """Return the placeholders of configurations whose values may be looked up at any time."""
        found = (one for config in configs for value in config.values() for one in placeholders(value))
        return frozenset(one.text for one in found if self._is_polled(one.provider))

    def _is_polled(self, provider: str) -> bool:
        return provider in self._providers and self._providers[provider].polled

    def look_up(self, texts: Iterable[str]) -> LookUp:
        """Return the values that placeholders have now; each path of a provider is looked up once."""
        values: dict[str, str] = {}
        errors: dict[str, str] = {}
        for (name, path), keys in _by_place(texts).items():
            try:
                found = self._providers[name].get(path, frozenset(keys)).values
            except Exception as error:
                errors.update(dict.fromkeys(keys.values(), _text(error)))
            else:
                values.update({text: found[key] for key, text in keys.items() if isinstance(found.get(key), str)})
        return LookUp(values, errors)

    def close(self) -> None:
        """Close the providers."""
        for name, provider in self._providers.items():
            try:
                provider.close()
            except Exception:
                log.warning("Failed to close config provider %s", name, exc_info=True)

    def _uses(self, config: Mapping[str, str | None]) -> dict[_Place, dict[str, str]]:
        """Return the keys that placeholders use by provider and path, each with its place for messages."""
        uses: dict[_Place, dict[str, str]] = {}
        for name, value in config.items():
            for found in placeholders(value or ""):
                if found.provider in self._providers:
                    uses.setdefault(_place(found), {}).setdefault(found.key, f"{found.text} in {name}")
        return uses

    def _ask(self, place: _Place, uses: Mapping[str, str]) -> ConfigData:
        name, path = place
        try:
            answer = self._providers[name].get(path, frozenset(uses))
        except Exception as error:
            raise ConfigError(f"{_text(error)}, for {', '.join(uses.values())}") from error
        for key, use in uses.items():
            if key not in answer.values:
                log.warning("Config provider '%s' has no value for %s, which stays as it is", name, use)
            elif not isinstance(answer.values[key], str):
                kind = type(answer.values[key]).__name__
                raise ConfigError(f"Config provider '{name}' gave a value of type {kind} instead of str for {use}")
        return answer


def reverse_transformed(
    connector: Mapping[str, str], task_configs: Sequence[Mapping[str, str]]
) -> list[dict[str, str]]:
    """Return the task configurations as they are stored: values that the connector passed on are placeholders again.

    A key with a placeholder in the connector's configuration keeps that text in every task's, whatever the connector
    made of its value (Java: ``AbstractHerder.reverseTransform``).

    Args:
        connector: its configuration as it was written.
        task_configs: as the connector made them.
    """
    written = {name: value for name, value in connector.items() if any(placeholders(value))}
    return [{name: written.get(name, value) for name, value in config.items()} for config in task_configs]


def _provider(name: str, own: Mapping[str, str], plugins: Plugins) -> ConfigProvider:
    class_key, options_prefix = f"{PROVIDERS}.{name}.class", f"{PROVIDERS}.{name}.param."
    try:
        provider = plugins.config_provider(own[class_key]).plugin()
    except Exception as error:
        why = f"Could not load config provider class or one of its dependencies: {_text(error)}"
        raise ConfigError.invalid(class_key, own[class_key], why) from error
    try:
        provider.configure(under_prefix(own, options_prefix))
    except Exception as error:
        raise ConfigError(f"Config provider '{name}' refuses {options_prefix}*: {_text(error)}") from error
    return provider


def _by_place(texts: Iterable[str]) -> dict[_Place, dict[str, str]]:
    """Return placeholders by provider and path, then by key."""
    by_place: dict[_Place, dict[str, str]] = {}
    for text in texts:
        for found in placeholders(text):
            by_place.setdefault(_place(found), {})[found.key] = text
    return by_place


def _place(found: Placeholder) -> _Place:
    return found.provider, found.path


def _replaced(text: str, value_of: Callable[[Placeholder], str]) -> str:
    parts, end = [], 0
    for found in placeholders(text):
        parts += [text[end : found.start], value_of(found)]
        end = found.start + len(found.text)
    return "".join([*parts, text[end:]])


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, ConnectError) else f"{type(error).__name__}: {error}"
