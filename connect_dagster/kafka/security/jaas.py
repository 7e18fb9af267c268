"""JAAS login modules, in ``sasl.jaas.config`` of Kafka clients and in login files.

The form is that of ``javax.security.auth.login.Configuration``; ``sasl.jaas.config`` is one module of an entry::

    KafkaConnect {
        org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule required
        file="/etc/kafka/connect.users";
    };
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from connect_dagster.errors import ConfigError
from connect_dagster.java.properties import read_text
from connect_dagster.plugin.config import Password

FILE_PROPERTY = "-Djava.security.auth.login.config="
"""The JVM property that names a login file."""
_REALM_PROPERTY = "-Djava.security.krb5.conf="
OPTIONS_VARIABLE = "KAFKA_OPTS"
"""The environment variable that Kafka's scripts take options of the JVM from."""

_TOKENS = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
      | "(?P<quoted>(?:\\.|[^"\\])*)"
      | (?P<sign>[{};=])
      | (?P<word>[^\s{};="]+)
      | (?P<wrong>.)""",
    re.VERBOSE | re.DOTALL,
)
_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One module of an entry: its Java class, when it must succeed, and its options."""

    class_name: str
    flag: str
    options: Mapping[str, str]

    def text(self) -> str:
        """Return the module as the value of ``sasl.jaas.config``."""
        quoted = {name: value.replace("\\", "\\\\").replace('"', '\\"') for name, value in self.options.items()}
        return " ".join((self.class_name, self.flag, *(f'{name}="{value}"' for name, value in quoted.items()))) + ";"


def login_modules(entry: str, environment: Mapping[str, str]) -> list[LoginModule]:
    """Return the modules of an entry of the login file that the JVM options of Kafka's scripts name.

    Args:
        entry: name of the entry.
        environment: the process's, with ``KAFKA_OPTS``.

    Raises:
        ConfigError: no file is named, or it is unreadable, malformed, or has no such entry.
    """
    file = _login_file(environment)
    entries = parse_entries(read_text(file), file)
    if entry not in entries:
        raise ConfigError(f"No LoginModules configured for {entry} in {file}")
    return entries[entry]


def parse_entries(text: str, source: str) -> dict[str, list[LoginModule]]:
    """Parse all entries of a login file, by name. Raises ConfigError with the source and the expected token."""
    tokens = _Tokens(text, source)
    entries: dict[str, list[LoginModule]] = {}
    while not tokens.at_end():
        name = tokens.word("an entry's name")
        tokens.sign("{")
        modules = []
        while not tokens.skip("}"):
            modules.append(_module(tokens))
        tokens.sign(";")
        entries[name] = modules
    return entries


def parse_modules(line: str) -> list[LoginModule]:
    """Parse the modules of a line as in ``sasl.jaas.config``. Raises ConfigError with the expected token."""
    tokens = _Tokens(line, "sasl.jaas.config")
    modules = []
    while not tokens.at_end():
        modules.append(_module(tokens))
    return modules


def _module(tokens: _Tokens) -> LoginModule:
    class_name = tokens.word("a login module's class")
    flag = tokens.word("a flag").lower()
    if flag not in _FLAGS:
        raise tokens.wrong(f"one of {', '.join(sorted(_FLAGS))}", flag)
    options = {}
    while not tokens.skip(";"):
        name = tokens.word("an option's name")
        tokens.sign("=")
        options[name] = tokens.word("an option's value")
    return LoginModule(class_name, flag, options)


def realm_file(environment: Mapping[str, str]) -> str | None:
    """Return the file ``krb5.conf`` of realms that the JVM options of Kafka's scripts name; ``None`` where none is.

    Args:
        environment: the process's, with ``KAFKA_OPTS``.

    Raises:
        ConfigError: the options cannot be read.
    """
    return _option(_REALM_PROPERTY, environment)


def realm_options(environment: Mapping[str, str]) -> list[str]:
    """Return the options of a JVM whose Kerberos has the same realms as this process.

    Args:
        environment: the process's, with ``KAFKA_OPTS``, or ``KRB5_CONFIG``, which Java does not know.

    Raises:
        ConfigError: the options cannot be read.
    """
    file = realm_file(environment) or environment.get("KRB5_CONFIG")
    # Java reads one file, where MIT's Kerberos also takes a list.
    return [f"{_REALM_PROPERTY}{file.partition(':')[0]}"] if file else []


def _login_file(environment: Mapping[str, str]) -> str:
    named = _option(FILE_PROPERTY, environment)
    if named is None:
        raise ConfigError(
            f"Failed to retrieve JAAS configuration: {OPTIONS_VARIABLE} does not name a login file "
            f"({FILE_PROPERTY}/path/to/file)"
        )
    # With a second = the file replaces all others; a file may be given as its URL.
    return named.removeprefix("=").removeprefix("file://").removeprefix("file:")


def _option(name: str, environment: Mapping[str, str]) -> str | None:
    try:
        words = shlex.split(environment.get(OPTIONS_VARIABLE, ""))
    except ValueError as error:
        raise ConfigError(f"{OPTIONS_VARIABLE} cannot be read: {error}") from error
    given = [word.removeprefix(name) for word in words if word.startswith(name)]
    return given[-1] if given else None


class _Tokens:
    """The tokens of a login file."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._tokens = list(_split(text))
        self._next = 0

    def at_end(self) -> bool:
        return self._next == len(self._tokens)

    def word(self, expected: str) -> str:
        kind, text = self._take(expected)
        if kind != "word":
            raise self.wrong(expected, text)
        return text

    def sign(self, sign: str) -> None:
        if self._take(sign) != ("sign", sign):
            kind, found = self._tokens[self._next - 1]
            raise self.wrong(sign, str(Password(found)) if kind == "word" else found)

    def skip(self, sign: str) -> bool:
        found = not self.at_end() and self._tokens[self._next] == ("sign", sign)
        self._next += found
        return found

    def wrong(self, expected: str, found: str) -> ConfigError:
        return ConfigError(f"JAAS login file {self._source}: expected {expected}, found {found}")

    def _take(self, expected: str) -> tuple[str, str]:
        if self.at_end():
            raise self.wrong(expected, "the end of the file")
        self._next += 1
        return self._tokens[self._next - 1]


def _split(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKENS.finditer(text):
        if match["quoted"] is not None:
            yield "word", re.sub(r"\\(.)", r"\1", match["quoted"])
        elif match.lastgroup is not None:
            yield match.lastgroup, match[0]
