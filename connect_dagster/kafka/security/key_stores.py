"""Private keys and certificates from the files that Kafka's ``ssl.*`` settings name: PKCS12, JKS and PEM.

The format of a file is recognized by its content, as in Java: a store that is declared ``JKS``, the default, most often
is PKCS12, which keytool has written since Java 9.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
from cryptography.x509 import Certificate, load_der_x509_certificate, load_pem_x509_certificates

from connect_dagster.errors import ConfigError
from connect_dagster.java.jks import MAGIC, JksError, read_jks

_JCEKS = b"\xce\xce\xce\xce"
_BOUNDARY = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]+)-----")
_KEY_LABEL = "PRIVATE KEY"
_LINE_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class KeyStore:
    """A private key with its certificates, or certificates to trust.

    Attributes:
        certificates: of a key store the chain, beginning with that of the key; of a trust store all of them.
        key: the private key, if there is one.
    """

    certificates: tuple[Certificate, ...]
    key: PrivateKeyTypes | None = None

    def certificates_pem(self) -> str:
        """Return the certificates as PEM, in their order."""
        return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in self.certificates)

    def key_pem(self, password: bytes | None) -> str:
        """Return the private key as PEM, encrypted if there is a password. There must be a key."""
        assert self.key is not None
        encryption = NoEncryption() if password is None else BestAvailableEncryption(password)
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()


def read_store(file: str, password: str | None, key_password: str | None = None) -> KeyStore:
    """Read the store in a file.

    Args:
        file: a PKCS12 or JKS store, or PEM text with certificates and perhaps a key.
        password: of a PKCS12 or JKS store.
        key_password: of an encrypted key in PEM, or of the key in JKS when it has its own.

    Raises:
        ConfigError: the file cannot be read, is in a format that cannot be used here, or the password is wrong.
    """
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise ConfigError(f"Cannot read the key store {file}: {error.strerror}") from error
    if content.startswith(_JCEKS):
        raise ConfigError(
            f"The key store {file} has the format JCEKS, which cannot be read here. Convert it to PKCS12: "
            f"keytool -importkeystore -srckeystore {file} -destkeystore {file}.p12 -deststoretype PKCS12"
        )
    if content.startswith(MAGIC):
        return _jks(content, password, key_password, file)
    if b"-----BEGIN " in content:
        return read_pem(content.decode("latin-1"), key_password, file)
    return _pkcs12(content, password, file)


def read_pem(text: str, key_password: str | None, source: str) -> KeyStore:
    """Read the store in PEM text, which may be one line as in a properties file.

    Args:
        text: certificates and perhaps a key.
        key_password: of an encrypted key.
        source: where the text is from, for the error.

    Raises:
        ConfigError: there is nothing in it, it is malformed, or the password is wrong.
    """
    blocks = list(_blocks(text))
    keys = [_rewrapped(label, content) for label, content in blocks if _KEY_LABEL in label]
    certificates = "".join(_rewrapped(label, content) for label, content in blocks if _KEY_LABEL not in label)
    secret = key_password.encode() if key_password else None
    try:
        chain = tuple(load_pem_x509_certificates(certificates.encode())) if certificates else ()
        key = load_pem_private_key(keys[0].encode(), secret) if keys else None
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{source} holds PEM that cannot be read: {error}") from error
    if not blocks:
        raise ConfigError(f"{source} holds no PEM: neither a certificate nor a private key")
    return KeyStore(chain, key)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield label and content of each block: from a ``BEGIN`` to the next ``END`` with its label.

    The ends are looked up, not searched for: text with many beginnings takes time in proportion to its length.
    """
    boundaries = list(_BOUNDARY.finditer(text))
    ends: dict[str, deque[re.Match[str]]] = defaultdict(deque)
    for one in boundaries:
        if one[1] == "END":
            ends[one[2]].append(one)
    behind = 0
    for begin in boundaries:
        if begin[1] == "END" or begin.start() < behind:
            continue
        coming = ends[begin[2]]
        while coming and coming[0].start() < begin.end():
            coming.popleft()
        if coming:
            behind = coming[0].end()
            yield begin[2], text[begin.end() : coming[0].start()]


def _rewrapped(label: str, content: str) -> str:
    if ":" not in content:  # not the header of an old encrypted key
        joined = "".join(content.split())
        content = "\n".join(joined[at : at + _LINE_CHARACTERS] for at in range(0, len(joined), _LINE_CHARACTERS))
    return f"-----BEGIN {label}-----\n{content.strip()}\n-----END {label}-----\n"


def _jks(content: bytes, password: str | None, key_password: str | None, file: str) -> KeyStore:
    try:
        store = read_jks(content, password, key_password)
    except JksError as error:
        raise ConfigError(f"The key store {file} cannot be read: {error}") from error
    if not store.keys:
        return KeyStore(tuple(map(load_der_x509_certificate, store.certificates)))
    first = store.keys[0]
    key = load_der_private_key(first.key, None)
    return KeyStore(tuple(map(load_der_x509_certificate, (*first.chain, *store.certificates))), key)


def _pkcs12(content: bytes, password: str | None, file: str) -> KeyStore:
    try:
        store = load_pkcs12(content, password.encode() if password is not None else None)
    except ValueError as error:
        raise ConfigError(f"The key store {file} is not a PKCS12 store, or its password is wrong: {error}") from error
    own = [store.cert] if store.cert else []
    return KeyStore(tuple(entry.certificate for entry in (*own, *store.additional_certs)), store.key)
