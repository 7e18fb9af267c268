"""Users by name and password from a file (Java: ``BasicAuthSecurityRestExtension``, KIP-285).

The file is found as in Java, through a JAAS login file with an entry ``KafkaConnect``. Of Java's login modules
there is the one that Kafka Connect ships, which reads a properties file; it is read once.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connect_dagster.errors import ConfigError
from connect_dagster.java import base64 as java_base64
from connect_dagster.java.properties import load_properties
from connect_dagster.kafka.security.jaas import LoginModule, login_modules

log = logging.getLogger(__name__)

EXTENSION = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
ENTRY = "KafkaConnect"
_MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"


@dataclass(frozen=True, slots=True)
class BasicAuth:
    """Decides on users.

    Attributes:
        files: passwords by user, file by file; a user of any of them may go on, and anyone if one has no users.
    """

    files: Sequence[Mapping[str, str]]

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> BasicAuth:
        """Return the users that the process's environment leads to.

        Raises:
            ConfigError: the login file is missing, it does not name a file with users, or names another login module.
        """
        return cls([_users(module) for module in login_modules(ENTRY, environment)])

    def __call__(self, authorization: str | None) -> bool:
        """Return whether the header ``Authorization`` names a user."""
        user, password = user_and_password(authorization)
        return any(not users or is_known(users, user, password) for users in self.files)


def is_known(users: Mapping[str, str], user: str, password: str) -> bool:
    """Return whether a user has a password."""
    return bool(user) and user in users and hmac.compare_digest(users[user].encode(), password.encode())


def user_and_password(authorization: str | None) -> tuple[str, str]:
    """Return user and password, empty when the header is of another kind or malformed (Java: 500)."""
    scheme, blank, encoded = (authorization or "").partition(" ")
    if not blank or scheme.lower() != "basic":
        return "", ""
    try:
        decoded = java_base64.decode(encoded)
    except ValueError:
        return "", ""
    user, colon, password = decoded.decode(errors="replace").partition(":")
    return (user, password) if user and colon else ("", "")


def _users(module: LoginModule) -> Mapping[str, str]:
    if module.class_name != _MODULE:
        raise ConfigError(f"Login module {module.class_name} of {ENTRY} cannot be used here; {_MODULE} can")
    if not (file := module.options.get("file", "").strip()):
        raise ConfigError(f"Property Credentials file must be specified: option file of {_MODULE}")
    users = load_properties(file)
    if not users:
        log.warning("Credential properties file '%s' is empty; all requests will be permitted", file)
    return users
