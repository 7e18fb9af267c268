"""The login of GSSAPI: tickets that a client gets with the keys of a key table, and its conversation with a broker.

Java: ``KerberosLogin``, ``Krb5LoginModule``, ``SaslClientAuthenticator``. Each login has a separate cache of tickets in
memory, so that one process can have several principals; the library of Kerberos renews the tickets.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from connect_dagster.errors import ConfigError, ConnectError, RetriableError
from connect_dagster.kafka.security.gss_api import LIBRARY, Context, Credential, GssError
from connect_dagster.kafka.security.jaas import LoginModule, realm_file
from connect_dagster.kafka.security.key_tables import principals

GSSAPI = "GSSAPI"
_MODULE = "com.sun.security.auth.module.Krb5LoginModule"
_SERVICE, _JAAS = "sasl.kerberos.service.name", "sasl.jaas.config"

# Codes of krb5.h that may pass: the centre is away, has no time, or its name cannot be resolved.
_TEMPORARY = frozenset({-1765328228, -1765328164, -1765328355, -1765328230})
_CLOCK_SKEW = -1765328347
_WRONG_KEY = frozenset({-1765328353, -1765328360})
_UNKNOWN_CLIENT, _EXPIRED_CLIENT, _UNKNOWN_SERVICE = -1765328378, -1765328383, -1765328377
_NO_CACHE = -1765328189

_NO_SECURITY_LAYER = b"\x01\x00\x00\x00"
"""Login alone, without a size for messages that would be signed (RFC 4752)."""


@dataclass(frozen=True, slots=True)
class KerberosLogin:
    """A client's login.

    Attributes:
        principal: as ``name@REALM``, or without a realm for the default one; ``None`` for the first of the key table,
            or that of the cache.
        key_table: file with keys; ``None`` where another program gets the tickets.
        ticket_cache: its file; empty for that of the process's user. ``None`` where a key table is used alone.
        service: name of the brokers' principals.
    """

    principal: str | None
    key_table: str | None
    ticket_cache: str | None
    service: str

    @classmethod
    def parse(cls, settings: Mapping[str, str], module: LoginModule) -> KerberosLogin:
        """Parse a login.

        Args:
            settings: of a client in Java's names.
            module: of ``sasl.jaas.config``.

        Raises:
            ConfigError: an option is missing or wrong.
        """
        options = module.options
        if module.class_name != _MODULE:
            raise ConfigError(f"Unknown login module {module.class_name} for {GSSAPI} in {_JAAS}: it must be {_MODULE}")
        has_keys, has_cache = (options.get(name, "").lower() == "true" for name in ("useKeyTab", "useTicketCache"))
        if not has_keys and not has_cache:
            raise ConfigError(
                f'The login module of {_JAAS} lacks useKeyTab=true with keyTab="/path" and principal="name@REALM", '
                "or useTicketCache=true"
            )
        if has_keys and not (options.get("keyTab") and options.get("principal")):
            missing = "principal" if options.get("keyTab") else "keyTab"
            raise ConfigError(f"The login module of {_JAAS} lacks the option {missing}, which useKeyTab=true needs")
        cache = options.get("ticketCache", "") if has_cache else None
        keys = options["keyTab"].removeprefix("file:").removeprefix("FILE:") if has_keys else None
        return cls(options.get("principal"), keys, cache, _service(settings, options))

    def check(self) -> None:
        """Get a ticket where there is none yet.

        Raises:
            RetriableError: the centre does not respond.
            ConfigError: the key table, the principal or its key is wrong.
        """
        self._credential()

    def conversation(self, host: str) -> KerberosConversation:
        """Begin the login at a broker.

        Args:
            host: of the broker, as clients know it.

        Raises:
            RetriableError: the centre does not respond.
            ConnectError: it gives no ticket.
        """
        return KerberosConversation(self, self._credential(), host)

    def __str__(self) -> str:
        principal = self.principal or "of the ticket cache"
        if self.key_table is not None:
            return f"{principal} with the key table {self.key_table}"
        return f"{principal} with the ticket cache {self.ticket_cache or 'of the user'}"

    def _credential(self) -> Credential:
        if (file := realm_file(os.environ)) is not None:
            os.environ["KRB5_CONFIG"] = file
        try:
            return self._first_credential()
        except OSError as error:
            raise ConfigError(
                f"{GSSAPI} needs the library {LIBRARY} of Kerberos, which cannot be loaded: {error}. Install the "
                "package of your system that has it: libgssapi-krb5-2 of Debian, krb5-libs of Red Hat"
            ) from error
        except GssError as error:
            raise self.error(error) from error

    def _first_credential(self) -> Credential:
        """Return that of the ticket cache, and where it has none, that of the key table (as ``Krb5LoginModule``)."""
        if self.ticket_cache is not None:
            try:
                return Credential(self.principal, {"ccache": self.ticket_cache} if self.ticket_cache else {})
            except GssError:
                if self.key_table is None:
                    raise
        key_table = str(self.key_table)
        # Tickets of another key, or of another file of realms, are not taken for those of this one.
        parts = (self.principal, key_table, os.environ.get("KRB5_CONFIG"), _version(key_table))
        name = hashlib.sha256(repr(parts).encode()).hexdigest()
        return Credential(self.principal, {"client_keytab": f"FILE:{key_table}", "ccache": f"MEMORY:connect_{name}"})

    def error(self, error: GssError) -> ConnectError:
        """Return an error of the library as that of this login."""
        if error.code in _TEMPORARY:
            return RetriableError(f"Kerberos gives {self} no ticket: {error}")
        advice = self._advice(error.code)
        return ConfigError(f"Kerberos refuses {self}: {error}" + (f". {advice}" if advice else ""))

    def _advice(self, code: int) -> str:
        if code == _NO_CACHE and self.key_table is not None:
            return _contents(Path(self.key_table))
        if code == _NO_CACHE:
            return "Get a ticket with kinit, or log in with a key table: useKeyTab=true"
        if code in _WRONG_KEY:
            return "Its key is not the principal's present one: export the key table again"
        if code == _UNKNOWN_CLIENT:
            return f"The option principal of {_JAAS} must be one of the realm"
        if code == _EXPIRED_CLIENT:
            return "Extend the principal in the realm"
        if code == _UNKNOWN_SERVICE:
            return f"{_SERVICE} must be the first part of the brokers' principals, and their host's name the second"
        if code == _CLOCK_SKEW:
            return "Set the clocks of this machine and of the realm"
        return ""


class KerberosConversation:
    """The messages of a client and a broker at a login (RFC 4752).

    Args:
        login: of the client.
        credential: of the login.
        host: of the broker.
    """

    def __init__(self, login: KerberosLogin, credential: Credential, host: str) -> None:
        self._login = login
        self._host = host
        with self._errors():
            self._context = Context(credential, f"{login.service}@{host}")
        self._established = False
        self.done = False

    def next(self, challenge: bytes) -> bytes:
        """Return the client's next message, the last one when ``done`` is set then.

        Args:
            challenge: the broker's last message; empty at first.

        Raises:
            RetriableError: the centre does not respond.
            ConnectError: it gives no ticket for the broker, or the broker is not who it says.
        """
        with self._errors():
            if not self._established:
                answer = self._context.step(challenge)
                self._established = self._context.complete
                return answer
            layers = self._context.unwrap(challenge)
            if not layers or not layers[0] & 1:
                raise ConnectError(f"The broker {self._host} takes no login without signed messages after it")
            self.done = True
            return self._context.wrap(_NO_SECURITY_LAYER)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except GssError as error:
            raise self._login.error(error) from error


def _service(settings: Mapping[str, str], options: Mapping[str, str]) -> str:
    """Return the name of the brokers' principals (Java: ``KerberosLogin.getServiceName``)."""
    found = {one for one in (options.get("serviceName"), settings.get(_SERVICE)) if one}
    if not found:
        raise ConfigError(f"No serviceName defined in either JAAS or Kafka config: {_SERVICE} is missing")
    if len(found) > 1:
        raise ConfigError(
            "Conflicting serviceName values found in JAAS and Kafka configs value in JAAS file "
            f"{options['serviceName']}, value in Kafka config {settings[_SERVICE]}"
        )
    return found.pop()


def _version(key_table: str) -> object:
    """Return what changes when a key table is replaced."""
    try:
        found = Path(key_table).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _contents(key_table: Path) -> str:
    """Return what a key table has instead of the keys of a principal."""
    try:
        found = principals(key_table)
    except OSError as error:
        return f"The key table cannot be read: {error.strerror}"
    except ValueError as error:
        return f"The file is not a key table of version 2: {error}"
    return f"The key table has keys of: {', '.join(found) or 'no principal'}"
