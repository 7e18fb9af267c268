"""Keys and certificates for tests: an authority, and those it vouches for."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

HOSTS = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]


@dataclass(frozen=True, slots=True)
class Identity:
    """A key and its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def authority(cls) -> Identity:
        """One that vouches for itself and others."""
        return cls._of("authority", None, [], is_authority=True)

    def vouch_for(self, name: str, hosts: list[x509.GeneralName] = HOSTS) -> Identity:
        """An identity that this one vouches for."""
        return Identity._of(name, self, hosts)

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _encryption(password)).decode()

    def key_store(self, password: str) -> bytes:
        """A PKCS12 store with the key."""
        return pkcs12.serialize_key_and_certificates(b"own", self.key, self.certificate, None, _encryption(password))

    def trust_store(self, password: str) -> bytes:
        """A PKCS12 store without a key."""
        entry = pkcs12.PKCS12Certificate(self.certificate, b"authority")
        return pkcs12.serialize_key_and_certificates(None, None, None, [entry], _encryption(password))

    @classmethod
    def _of(
        cls, name: str, issuer: Identity | None, hosts: list[x509.GeneralName], *, is_authority: bool = False
    ) -> Identity:
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (
            x509.CertificateBuilder(issuer.certificate.subject if issuer else subject, subject, key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        )
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        return cls(key, builder.sign(issuer.key if issuer else key, SHA256()))


def _encryption(password: str | None) -> KeySerializationEncryption:
    return BestAvailableEncryption(password.encode()) if password else NoEncryption()
