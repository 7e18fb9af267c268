"""Bearer tokens for tests, and the keys to check them with."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey

AUDIENCE, ISSUER = "connect", "https://issuer.example"


@dataclass(frozen=True, slots=True)
class Issuer:
    """One who issues tokens."""

    key: ECKey

    @classmethod
    def make(cls, kid: str = "one") -> Issuer:
        return cls(ECKey.generate_key("P-256", {"kid": kid}))

    @property
    def key_set(self) -> str:
        """The public key, as a JSON Web Key Set."""
        return json.dumps({"keys": [self.key.as_dict(private=False)]})

    def token(self, name: str, seconds: float = 600, **claims: Any) -> str:
        """Return a token that expires after some seconds; a claim that is `None` is left out."""
        given = {"sub": name, "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time() + seconds), **claims}
        header = {"alg": "ES256", "kid": self.key.kid}
        return jwt.encode(header, {name: value for name, value in given.items() if value is not None}, self.key)
