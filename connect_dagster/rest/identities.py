"""Identify who sends a request: a user with a password, the subject of a bearer token, or that of a client certificate.

The header ``Authorization`` counts before the certificate: a request that a worker forwards has the user's header and
the worker's certificate. Independent of what an identity may do.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from joserfc import jwt
from joserfc.errors import ExpiredTokenError, InvalidKeyIdError, JoseError

from connect_dagster.kafka.security.principal_rules import SETTING, PrincipalRules
from connect_dagster.rest.basic_auth import is_known, user_and_password
from connect_dagster.rest.signing_keys import SigningKeys

# Signatures with a public key: with a shared secret everyone who checks a token could make one.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
# Kafka: sasl.oauthbearer.clock.skew.seconds
_CLOCK_SKEW_SECONDS = 30


class UnknownIdentity(Exception):
    """Nobody is identified; the text is for the client.

    Attributes:
        by_token: whether a bearer token was refused.
        renewal: the end of a renewal of the signing keys, after which the token may be valid.
    """

    def __init__(self, message: str, *, by_token: bool = False, renewal: Future[None] | None = None) -> None:
        super().__init__(message)
        self.by_token = by_token
        self.renewal = renewal


@dataclass(frozen=True, slots=True)
class Tokens:
    """JSON Web Tokens (RFC 7519), checked with the keys of their issuer.

    Attributes:
        keys: of those who issue them.
        claims: what the claims must be.
        subject: the claim with the name.
    """

    keys: SigningKeys
    claims: Mapping[str, Any]
    subject: str

    def name(self, token: str) -> str:
        """Return the name that a token has. Raises UnknownIdentity when it is not valid."""
        try:
            claims = jwt.decode(token, self.keys.current(), algorithms=list(_ALGORITHMS)).claims
            jwt.JWTClaimsRegistry(leeway=_CLOCK_SKEW_SECONDS, exp={"essential": True}, **self.claims).validate(claims)
        except ExpiredTokenError:
            raise UnknownIdentity("The bearer token has expired", by_token=True) from None
        except InvalidKeyIdError as error:
            raise UnknownIdentity(
                f"The bearer token is not valid: {error}", by_token=True, renewal=self.keys.renewal()
            ) from None
        except (JoseError, ValueError) as error:
            raise UnknownIdentity(f"The bearer token is not valid: {error}", by_token=True) from None
        name = claims.get(self.subject)
        if not (isinstance(name, str) and name):
            raise UnknownIdentity(f"The bearer token has no claim '{self.subject}' with a name", by_token=True)
        return name


@dataclass(frozen=True, slots=True)
class Identities:
    """Ways to identify who sends a request.

    Attributes:
        users: passwords by user.
        tokens: bearer tokens; ``None`` when there are none.
        rules: names of certificates.
    """

    users: Mapping[str, str]
    tokens: Tokens | None
    rules: PrincipalRules

    @property
    def challenges(self) -> tuple[str, ...]:
        """Return the schemes that a client may use, for ``WWW-Authenticate``."""
        given = (("Basic", bool(self.users)), ("Bearer", self.tokens is not None))
        return tuple(f'{scheme} realm="KafkaConnect"' for scheme, there in given if there)

    def name(self, authorization: str | None, subject: str | None) -> str:
        """Return who sends a request.

        Args:
            authorization: the header of that name.
            subject: of the client certificate.

        Raises:
            UnknownIdentity: nobody is identified.
        """
        if authorization is None:
            return self._by_certificate(subject)
        scheme, _, credentials = authorization.partition(" ")
        if scheme.lower() == "bearer" and self.tokens is not None:
            return self.tokens.name(credentials.strip())
        user, password = user_and_password(authorization)
        if is_known(self.users, user, password):
            return user
        raise UnknownIdentity(
            "The user is unknown or the password is wrong"
            if scheme.lower() == "basic"
            else f"This worker takes no credentials of the kind '{scheme}'"
        )

    def _by_certificate(self, subject: str | None) -> str:
        if not subject:
            raise UnknownIdentity("The request has no user, no bearer token and no client certificate")
        if (name := self.rules.name(subject)) is None:
            raise UnknownIdentity(f"No rule of {SETTING} applies to the client certificate of {subject}")
        return name
