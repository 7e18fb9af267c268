"""Roles: who may read, operate and change (``RoleRestExtension``).

An identity is written as a principal of Kafka, ``User:name``, ``User:*`` for all that are identified. A role has the
rights of those before it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from enum import IntEnum
from functools import partial

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from connect_dagster.errors import ConfigError
from connect_dagster.java.properties import load_properties
from connect_dagster.kafka.security.principal_rules import DEFAULT, SETTING, PrincipalRules
from connect_dagster.plugin.config import ConfigDef, Importance, at_least, config_key
from connect_dagster.plugin.rest_extension import ClusterState, RestExtension
from connect_dagster.rest.exchange import Reply
from connect_dagster.rest.identities import Identities, Tokens, UnknownIdentity
from connect_dagster.rest.replies import response_of
from connect_dagster.rest.signing_keys import EndpointKeys, FileKeys, SigningKeys

PREFIX = "rest.roles."
EVERYONE = "*"
_USER = "User:"
_TOKENS = f"{PREFIX}oauthbearer."
_KEYS_SECONDS = 15.0


class Role(IntEnum):
    """Rights of an identity."""

    READ = 1
    """All requests that change nothing."""
    OPERATE = 2
    """Pause, resume, stop and restart connectors and tasks."""
    CHANGE = 3
    """All others: configurations, offsets, levels of loggers."""

    @property
    def setting(self) -> str:
        """Return the key that names its principals."""
        return f"{PREFIX}{self.name.lower()}"


_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_OPERATES = (
    ("PUT", re.compile(r"/connectors/[^/]+/(pause|resume|stop)")),
    ("POST", re.compile(r"/connectors/[^/]+/(tasks/[^/]+/)?restart")),
)


def required_role(method: str, path: str) -> Role:
    """Return the role that a request needs, CHANGE where nothing else is known."""
    if method in _READS:
        return Role.READ
    operates = any(method == verb and pattern.fullmatch(path) for verb, pattern in _OPERATES)
    return Role.OPERATE if operates else Role.CHANGE


class RoleSettings(ConfigDef):
    """Keys of the extension, in the worker's file."""

    read: str = config_key(
        Role.READ.setting,
        default="",
        importance=Importance.MEDIUM,
        doc="Principals that may read, between semicolons: User:name, User:* for all that are identified.",
    )
    operate: str = config_key(
        Role.OPERATE.setting,
        default="",
        importance=Importance.MEDIUM,
        doc="Principals that may also pause, resume, stop and restart.",
    )
    change: str = config_key(
        Role.CHANGE.setting,
        default="",
        importance=Importance.MEDIUM,
        doc="Principals that may also create, alter and delete connectors, offsets and levels of loggers.",
    )
    users_file: str | None = config_key(
        f"{PREFIX}users.file",
        default=None,
        importance=Importance.MEDIUM,
        doc="Properties file with a password for each user of basic authentication; read once.",
    )
    jwks_file: str | None = config_key(
        f"{_TOKENS}jwks.file",
        default=None,
        importance=Importance.MEDIUM,
        doc="JSON Web Key Set with the public keys of those who issue bearer tokens (JWT); read again when it changes.",
    )
    jwks_url: str | None = config_key(
        f"{_TOKENS}jwks.endpoint.url",
        default=None,
        importance=Importance.MEDIUM,
        doc="Address of the JSON Web Key Set, instead of a file; asked again after a time, and when a token is signed "
        "with an unknown key.",
    )
    jwks_refresh_ms: int = config_key(
        f"{_TOKENS}jwks.endpoint.refresh.ms",
        default=3_600_000,
        importance=Importance.LOW,
        validator=at_least(1),
        doc="Time in milliseconds after which that address is asked again.",
    )
    expected_issuer: str | None = config_key(
        f"{_TOKENS}expected.issuer",
        default=None,
        importance=Importance.LOW,
        doc="What the claim iss of a token must be; any by default.",
    )
    expected_audience: str | None = config_key(
        f"{_TOKENS}expected.audience",
        default=None,
        importance=Importance.LOW,
        doc="What the claim aud of a token must name; anything by default.",
    )
    subject_claim: str = config_key(
        f"{_TOKENS}sub.claim.name",
        default="sub",
        importance=Importance.LOW,
        doc="Claim of a token with the name of the principal.",
    )
    mapping_rules: str = config_key(
        SETTING,
        default=DEFAULT,
        importance=Importance.LOW,
        doc="Names of client certificates, by rules as Kafka's brokers have them: "
        "RULE:pattern/replacement/[LU] or DEFAULT, the subject, between commas.",
    )

    def identities(self) -> Identities:
        """Return the ways to identify clients. Raises ConfigError when a file cannot be read, or a rule is wrong."""
        users = {} if self.users_file is None else load_properties(self.users_file)
        return Identities(users, self._tokens(), PrincipalRules.parse(self.mapping_rules))

    def _tokens(self) -> Tokens | None:
        if (keys := self._keys()) is None:
            return None
        expected = {"iss": self.expected_issuer, "aud": self.expected_audience}
        claims = {name: {"essential": True, "value": value} for name, value in expected.items() if value is not None}
        return Tokens(keys, claims, self.subject_claim)

    def _keys(self) -> SigningKeys | None:
        if self.jwks_url is None:
            return None if self.jwks_file is None else FileKeys(self.jwks_file)
        if self.jwks_file is not None:
            raise ConfigError(f"Signing keys come from {_TOKENS}jwks.file or {_TOKENS}jwks.endpoint.url, not from both")
        return EndpointKeys(self.jwks_url, self.with_prefix(_TOKENS), self.jwks_refresh_ms / 1000)

    def roles(self) -> Mapping[str, Role]:
        """Return the highest role of each name. Raises ConfigError when there is none, or one is malformed."""
        lists = {Role.READ: self.read, Role.OPERATE: self.operate, Role.CHANGE: self.change}
        roles = {name: role for role in Role for name in _names(role, lists[role])}
        if not roles:
            keys = ", ".join(role.setting for role in Role)
            raise ConfigError(f"RoleRestExtension would let nobody in: name principals in one of {keys}")
        return roles


def _names(role: Role, text: str) -> list[str]:
    principals = [part.strip() for part in text.split(";") if part.strip()]
    for principal in principals:
        if not principal.startswith(_USER) or principal == _USER:
            raise ConfigError.invalid(role.setting, text, f"'{principal}' is not of the form {_USER}name")
    return [principal.removeprefix(_USER) for principal in principals]


class RoleRestExtension(RestExtension):
    """Identifies who sends a request, and refuses it when it needs a role that the sender has not."""

    def configure(self, config: Mapping[str, str]) -> None:
        settings = RoleSettings.parse(config)
        self._identities = settings.identities()
        self._roles = settings.roles()

    def register(self, app: ASGIApp, cluster_state: ClusterState) -> ASGIApp:
        return partial(self._serve, app)

    async def _serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = await self._refusal(scope)
        await (app if refusal is None else response_of(refusal))(scope, receive, send)

    async def _refusal(self, scope: Scope) -> Reply | None:
        try:
            name = await self._name(scope)
        except UnknownIdentity as error:
            return self._unauthenticated(error)
        needed, own = required_role(scope["method"], scope["path"]), self._role(name)
        if own is not None and own >= needed:
            return None
        has = "no role" if own is None else f"the role {own.name.lower()}"
        return Reply.error(
            403, f"{_USER}{name} has {has}: {scope['method']} {scope['path']} needs {needed.name.lower()}"
        )

    async def _name(self, scope: Scope) -> str:
        """Return who sends a request; wait for new signing keys where the key of a token is unknown."""
        subject = scope.get("extensions", {}).get("tls", {}).get("client_cert_name")
        authorization = Headers(scope=scope).get("authorization")
        try:
            return self._identities.name(authorization, subject)
        except UnknownIdentity as error:
            if error.renewal is None:
                raise
            await asyncio.wait([asyncio.wrap_future(error.renewal)], timeout=_KEYS_SECONDS)
        return self._identities.name(authorization, subject)

    def _role(self, name: str) -> Role | None:
        found = [self._roles[known] for known in (name, EVERYONE) if known in self._roles]
        return max(found, default=None)

    def _unauthenticated(self, error: UnknownIdentity) -> Reply:
        reply = Reply.error(401, str(error))
        challenges = ", ".join(self._identities.challenges)
        if error.by_token:
            challenges += ', error="invalid_token"'
        return Reply(401, reply.body, {**reply.headers, **({"WWW-Authenticate": challenges} if challenges else {})})
