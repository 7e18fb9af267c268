"""Mask secrets in configurations, URLs, traces and error texts before Dagster stores them.

The event log is never pruned, so a password that gets there once stays. A value is secret by its key
(``database.password``), or when it stands within another value where a secret stands: a URL's user part, a
parameter such as ``password=…``, a line of JAAS. What is secret in a configuration is then also cut out of any text
that quotes it, as the trace of a failed task does. Placeholders of config providers (``${file:…}``) are not secrets.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

MASK = "********"

# Words that make a key secret, as they stand between dots, dashes and underscores.
_SECRET_WORDS = (
    r"password|passwd|passphrase|pwd|secret|secrets|token|credential|credentials|jaas|"
    r"(?:private|secret|access|api|account|shared|encryption|signing|keystore|certificate)[._-]?key|user\.info"
)
# Where a list of secrets is named, not a secret: delegation.token.lifetime.ms, password.encoder.iterations.
_HARMLESS_ENDS = (
    r"(?:\.ms|\.seconds|\.id|\.class|\.type|\.url|\.uri|\.file|\.path|\.location|\.name|\.enabled|\.algorithm)"
)
_SECRET_KEY = re.compile(
    rf"(?:^|[._-]|(?<=[a-z])(?=[A-Z]))(?:{_SECRET_WORDS})(?:$|[._-])|(?:^|[._-])pass$|\bheaders?[._-]authorization$",
    re.IGNORECASE,
)
_HARMLESS_KEY = re.compile(rf"{_HARMLESS_ENDS}$", re.IGNORECASE)
_URL_KEY = re.compile(
    r"(?:^|[._-]|(?<=[a-z])(?=[A-Z]))(?:url|uri|dsn|connection[._-]?string|connection[._-]?strings)s?$", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")

_QUOTED = r"""'[^']*'|"[^"]*"|\\"(?:[^"\\])*\\\""""
# Each pattern takes time in proportion to the text, as it reads no part of it from many beginnings. Where a beginning
# is not that of a secret, it takes the rest of the word, without a group "secret".
_USER_PART = re.compile(
    r"(?P<before>(?<=[a-z0-9+.:-])://[^\s/?#:@\"']*+:)(?P<secret>[^\s/?#@\"']++)(?=@)", re.IGNORECASE
)
_PARAMETER = re.compile(
    r"(?P<before>(?:(?:\b|_|(?<=[a-z]))(?:password\d?|passwd|passphrase|pwd|secret|token|api[._-]?key|"
    r"(?:access|private|secret|account|shared)[._-]?key|user\.info)|(?<=[?&])sig)[\"']?\s*[=:]\s*)"
    rf"(?P<secret>\$\{{[^{{}}]*+\}}|{_QUOTED}|[^\s&;,\"'}})\]]+)",
    re.IGNORECASE,
)
_ORACLE_PASSWORD = re.compile(
    r"(?P<before>\bjdbc:oracle:[^\s/@\"']*+/?+)(?:(?<=/)(?P<secret>[^\s@\"']++)(?=@)|[^\s@\"']*+)", re.IGNORECASE
)
_AUTHORIZATION = re.compile(
    r"(?P<before>\bauthorization[\"']?\s*[=:]\s*[\"']?(?:bearer|basic|token)\s+)(?P<secret>[^\s\"',;}]+)", re.IGNORECASE
)
_VISIBLE = (_USER_PART, _ORACLE_PASSWORD, _AUTHORIZATION, _PARAMETER)
# Shorter ones would blot out harmless text wherever it has the same letters.
_SHORTEST_QUOTED = 4


def is_secret_key(key: str) -> bool:
    """Return whether a configuration key holds a secret, judged by its name.

    Examples:
        >>> is_secret_key("database.password"), is_secret_key("key.converter"), is_secret_key("sasl.jaas.config")
        (True, False, True)
    """
    return bool(_SECRET_KEY.search(key)) and not _HARMLESS_KEY.search(key)


def is_url_key(key: str) -> bool:
    """Return True if a configuration key holds a URL or a connection string, judged by its name.

    Examples:
        >>> is_url_key("connection.url"), is_url_key("schema_registry_url"), is_url_key("curl")
        (True, True, False)
    """
    return bool(_URL_KEY.search(key))


def mask_config(config: Mapping[str, str | None], secret_keys: Collection[str] = ()) -> dict[str, str | None]:
    """Return the configuration with its secrets masked; keys, users and hosts stay to be read.

    Args:
        config: A connector's or worker's configuration.
        secret_keys: Further keys that are secret, such as those a plugin defines as PASSWORD.
    """
    return {key: _masked_value(key, value, secret_keys) for key, value in config.items()}


def mask_text(text: str, configs: Iterable[Mapping[str, str | None]] = (), secret_keys: Collection[str] = ()) -> str:
    """Return the text without secrets: those that show themselves, and those of the configurations wherever quoted.

    Args:
        text: A trace, an error's sentence, a URL.
        configs: Configurations whose secrets the text may quote.
        secret_keys: Their secret keys, in addition to those with a secret name.

    Examples:
        >>> mask_text("jdbc:mysql://db:3306/shop?user=ann&password=kafka123")
        'jdbc:mysql://db:3306/shop?user=ann&password=********'
    """
    for config in configs:
        for secret in secrets_of(config, secret_keys):
            text = text.replace(secret, MASK)
    return _mask_visible(text)


def mask_json(value: Any, key: str = "") -> Any:
    """Return a document without the secrets that show themselves, such as the partition or the offset of a source.

    Args:
        value: The document, or a part of it.
        key: The key it stands under.
    """
    match value:
        case Mapping():
            return {name: mask_json(each, name) for name, each in value.items()}
        case list() | tuple():
            return [mask_json(each, key) for each in value]
        case str():
            return _masked_value(key, value, ())
        case _:
            return value


def secrets_of(config: Mapping[str, str | None], secret_keys: Collection[str] = ()) -> list[str]:
    """Return the secret values of a configuration, and the secret parts of its other values; the longest first.

    Args:
        config: A connector's or worker's configuration.
        secret_keys: Its secret keys, in addition to those with a secret name.
    """
    secrets: set[str] = set()
    for key, value in config.items():
        if value is None or is_placeholder(value):
            continue
        if key in secret_keys or is_secret_key(key):
            secrets.add(value)
        visible = (found["secret"] or "" for pattern in _VISIBLE for found in pattern.finditer(value))
        secrets.update(secret.strip("'\"\\") for secret in visible)
    secret_texts = (secret for secret in secrets if len(secret) >= _SHORTEST_QUOTED and not is_placeholder(secret))
    return sorted(secret_texts, key=len, reverse=True)


def _masked_value(key: str, value: str | None, secret_keys: Collection[str]) -> str | None:
    if value is None or is_placeholder(value):
        return value
    return MASK if key in secret_keys or is_secret_key(key) else _mask_visible(value)


def is_placeholder(value: str) -> bool:
    """Return True if a value is one placeholder of a config provider, such as ``${file:secrets.properties:key}``."""
    return _PLACEHOLDER.fullmatch(value.strip()) is not None


def _mask_visible(text: str) -> str:
    for pattern in _VISIBLE:
        text = pattern.sub(_with_mask, text)
    return text


def _with_mask(found: re.Match[str]) -> str:
    secret = found["secret"]
    return found[0] if secret is None or is_placeholder(secret) or secret == MASK else found["before"] + MASK
