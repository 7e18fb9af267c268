"""``ssl.cipher.suites``: Java's names of cipher suites, which are those of IANA, as OpenSSL takes them.

OpenSSL has two lists, one for TLS 1.3 and one for all versions before. Neither Python's ``ssl`` (before 3.15) nor
librdkafka can set the first one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Self

from connect_dagster.errors import ConfigError

SETTING = "ssl.cipher.suites"
TLS_1_2, TLS_1_3 = "TLSv1.2", "TLSv1.3"

SUITES_OF_1_3 = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
"""The suites of TLS 1.3 that OpenSSL uses unless it is told otherwise."""

# Not a suite but a signal, which Java lists among them and OpenSSL always sends.
_SIGNAL = "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"

SUITES_BEFORE_1_3: Mapping[str, str] = {
    "TLS_DHE_DSS_WITH_AES_128_CBC_SHA": "DHE-DSS-AES128-SHA",
    "TLS_DHE_DSS_WITH_AES_128_CBC_SHA256": "DHE-DSS-AES128-SHA256",
    "TLS_DHE_DSS_WITH_AES_128_GCM_SHA256": "DHE-DSS-AES128-GCM-SHA256",
    "TLS_DHE_DSS_WITH_AES_256_CBC_SHA": "DHE-DSS-AES256-SHA",
    "TLS_DHE_DSS_WITH_AES_256_CBC_SHA256": "DHE-DSS-AES256-SHA256",
    "TLS_DHE_DSS_WITH_AES_256_GCM_SHA384": "DHE-DSS-AES256-GCM-SHA384",
    "TLS_DHE_RSA_WITH_AES_128_CBC_SHA": "DHE-RSA-AES128-SHA",
    "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256": "DHE-RSA-AES128-SHA256",
    "TLS_DHE_RSA_WITH_AES_128_CCM": "DHE-RSA-AES128-CCM",
    "TLS_DHE_RSA_WITH_AES_128_CCM_8": "DHE-RSA-AES128-CCM8",
    "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256": "DHE-RSA-AES128-GCM-SHA256",
    "TLS_DHE_RSA_WITH_AES_256_CBC_SHA": "DHE-RSA-AES256-SHA",
    "TLS_DHE_RSA_WITH_AES_256_CBC_SHA256": "DHE-RSA-AES256-SHA256",
    "TLS_DHE_RSA_WITH_AES_256_CCM": "DHE-RSA-AES256-CCM",
    "TLS_DHE_RSA_WITH_AES_256_CCM_8": "DHE-RSA-AES256-CCM8",
    "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384": "DHE-RSA-AES256-GCM-SHA384",
    "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "DHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CCM": "ECDHE-ECDSA-AES128-CCM",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CCM_8": "ECDHE-ECDSA-AES128-CCM8",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384": "ECDHE-ECDSA-AES256-SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CCM": "ECDHE-ECDSA-AES256-CCM",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CCM_8": "ECDHE-ECDSA-AES256-CCM8",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384": "ECDHE-RSA-AES256-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_CCM": "AES128-CCM",
    "TLS_RSA_WITH_AES_128_CCM_8": "AES128-CCM8",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA256": "AES256-SHA256",
    "TLS_RSA_WITH_AES_256_CCM": "AES256-CCM",
    "TLS_RSA_WITH_AES_256_CCM_8": "AES256-CCM8",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
}
"""OpenSSL's names of the suites for certificates before TLS 1.3 (``openssl ciphers -stdname``)."""


@dataclass(frozen=True, slots=True)
class CipherSuites:
    """The suites that may be used.

    Attributes:
        names: as the user wrote them.
        before_1_3: OpenSSL's names of those before TLS 1.3, in the user's order.
        of_1_3: the names of those of TLS 1.3.
    """

    names: tuple[str, ...]
    before_1_3: tuple[str, ...]
    of_1_3: tuple[str, ...]

    @classmethod
    def parse(cls, names: Sequence[str]) -> Self | None:
        """Return the suites of the setting; ``None`` when it is empty, and does not restrict them.

        Raises:
            ConfigError: OpenSSL has no such suite; names it, and similar ones.
        """
        suites = [name for name in names if name != _SIGNAL]
        for name in suites:
            if name not in SUITES_BEFORE_1_3 and name not in SUITES_OF_1_3:
                alike = get_close_matches(name, [*SUITES_OF_1_3, *SUITES_BEFORE_1_3], 3, 0)
                raise ConfigError.invalid(SETTING, name, f"OpenSSL has no such suite; it has {', '.join(alike)}")
        if not suites:
            return None
        return cls(
            tuple(suites),
            tuple(SUITES_BEFORE_1_3[name] for name in suites if name in SUITES_BEFORE_1_3),
            tuple(name for name in suites if name in SUITES_OF_1_3),
        )

    @property
    def versions(self) -> tuple[str, ...]:
        """Versions of TLS that have one of the suites."""
        return (TLS_1_2,) * bool(self.before_1_3) + (TLS_1_3,) * bool(self.of_1_3)

    @property
    def openssl(self) -> str:
        """OpenSSL's list for all versions before TLS 1.3."""
        return ":".join(self.before_1_3)

    @property
    def unavoidable(self) -> tuple[str, ...]:
        """Suites that connections with TLS 1.3 may use though they are left out."""
        return tuple(name for name in SUITES_OF_1_3 if self.of_1_3 and name not in self.of_1_3)
