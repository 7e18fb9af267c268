"""Java's old key store format JKS: certificates in the clear, private keys under Sun's own protection.

Layout and protection are those of ``sun.security.provider.JavaKeyStore`` and ``KeyProtector``: numbers are big-endian,
text is preceded by its length, and the file ends with a SHA-1 digest that the store's password takes part in. Knows
nothing of what the certificates say.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"\xfe\xed\xfe\xed"

_DIGEST_BYTES = 20
_WHITENER = b"Mighty Aphrodite"
_KEY, _CERTIFICATE = 1, 2
_PROTECTION_OID = bytes.fromhex("2b060104012a02110101")  # 1.3.6.1.4.1.42.2.17.1.1
_SEQUENCE, _OBJECT_ID, _OCTETS = 0x30, 0x06, 0x04


class JksError(ValueError):
    """The bytes are not a JKS store that can be read with this password."""


@dataclass(frozen=True, slots=True)
class JksKey:
    """A private key.

    Attributes:
        alias: its name in the store.
        key: PKCS8, DER.
        chain: certificates, DER, beginning with that of the key.
    """

    alias: str
    key: bytes
    chain: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Jks:
    """A store: its private keys, and the certificates (DER) that it trusts, in the file's order."""

    keys: tuple[JksKey, ...]
    certificates: tuple[bytes, ...]


def read_jks(content: bytes, password: str | None, key_password: str | None = None) -> Jks:
    """Read the store in the bytes of a file.

    Args:
        content: all of the file.
        password: of the store; without it, its integrity is not checked, as in Java.
        key_password: of its keys; the store's by default.

    Raises:
        JksError: it is damaged, of another format, or a password is wrong or missing.
    """
    if not content.startswith(MAGIC):
        raise JksError("Invalid keystore format")
    body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    if password is not None and not hmac.compare_digest(digest, _digest(_utf16(password), _WHITENER, body)):
        raise JksError("Keystore was tampered with, or password was incorrect")
    reader = _Reader(body[len(MAGIC) :])
    typed = reader.number(4) == 2
    keys: list[JksKey] = []
    certificates: list[bytes] = []
    for _ in range(reader.number(4)):
        kind, alias = reader.number(4), reader.text()
        reader.number(8)  # when it was made
        if kind == _KEY:
            key = _unprotected(reader.block(4), key_password or password)
            keys.append(JksKey(alias, key, tuple(reader.certificate(typed) for _ in range(reader.number(4)))))
        elif kind == _CERTIFICATE:
            certificates.append(reader.certificate(typed))
        else:
            raise JksError(f"Unrecognized keystore entry: {kind}")
    return Jks(tuple(keys), tuple(certificates))


def _unprotected(protected: bytes, password: str | None) -> bytes:
    """Decrypt the key of an ``EncryptedPrivateKeyInfo``: salt, key under a stream of digests, digest of the key."""
    if password is None:
        raise JksError("Cannot recover key: it needs the password of the store or the key")
    algorithm, data = _parts(_content(protected, _SEQUENCE))
    if _content(_content(algorithm, _SEQUENCE), _OBJECT_ID) != _PROTECTION_OID:
        raise JksError("Cannot recover key: unsupported key protection algorithm")
    octets = _content(data, _OCTETS)
    secret, salt = _utf16(password), octets[:_DIGEST_BYTES]
    hidden, check = octets[_DIGEST_BYTES:-_DIGEST_BYTES], octets[-_DIGEST_BYTES:]
    key = bytes(one ^ other for one, other in zip(hidden, _stream(secret, salt), strict=False))
    if not hmac.compare_digest(check, _digest(secret, key)):
        raise JksError("Cannot recover key: the password of the key is wrong")
    return key


def _stream(secret: bytes, salt: bytes) -> Iterator[int]:
    digest = salt
    while True:
        digest = _digest(secret, digest)
        yield from digest


def _digest(*parts: bytes) -> bytes:
    # The format has no other digest.
    return hashlib.sha1(b"".join(parts), usedforsecurity=False).digest()


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")


def _parts(content: bytes) -> tuple[bytes, bytes]:
    """Return both elements of a DER sequence of two."""
    begin, length = _bounds(content)
    return content[: begin + length], content[begin + length :]


def _content(der: bytes, tag: int) -> bytes:
    if not der or der[0] != tag:
        raise JksError("Cannot recover key: its encoding is damaged")
    begin, length = _bounds(der)
    return der[begin : begin + length]


def _bounds(der: bytes) -> tuple[int, int]:
    """Return the start of a DER element's content, and its length."""
    if len(der) < 2:
        raise JksError("Cannot recover key: its encoding is damaged")
    if der[1] < 0x80:
        return 2, der[1]
    size = der[1] & 0x7F
    return 2 + size, int.from_bytes(der[2 : 2 + size])


class _Reader:
    """A cursor over bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def number(self, size: int) -> int:
        return int.from_bytes(self._take(size))

    def block(self, size: int) -> bytes:
        """Return bytes that are preceded by their length in ``size`` bytes."""
        return self._take(self.number(size))

    def text(self) -> str:
        return self.block(2).decode(errors="replace")

    def certificate(self, typed: bool) -> bytes:
        if typed:
            self.text()  # X.509: Java writes no other
        return self.block(4)

    def _take(self, size: int) -> bytes:
        taken = self._content[self._at : self._at + size]
        if len(taken) < size:
            raise JksError("Invalid keystore format: it ends too early")
        self._at += size
        return taken
