"""TLS contexts of each mode."""

import datetime
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from connect_dagster.connectors.mysql.server.tls import (
    DEMANDS,
    MariaDbTlsMode,
    MySqlTlsMode,
    StoreFile,
    TlsMode,
    client_context,
)
from connect_dagster.errors import ConfigError

PASSWORD = "store-secret"


def write_stores(folder: Path) -> tuple[StoreFile, StoreFile]:
    """Write a key store and the trust store for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "connector")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, SHA256())
    keys, trusted = folder / "keys.p12", folder / "trusted.pem"
    encryption = BestAvailableEncryption(PASSWORD.encode())
    keys.write_bytes(serialize_key_and_certificates(b"connector", key, certificate, None, encryption))
    trusted.write_bytes(certificate.public_bytes(Encoding.PEM))
    return StoreFile(str(keys), PASSWORD), StoreFile(str(trusted))


@pytest.mark.parametrize(
    ("mode", "encrypted", "plain_instead", "verify", "host"),
    [
        (MySqlTlsMode.DISABLED, False, False, False, False),
        (MySqlTlsMode.PREFERRED, True, True, False, False),
        (MySqlTlsMode.REQUIRED, True, False, False, False),
        (MySqlTlsMode.VERIFY_CA, True, False, True, False),
        (MySqlTlsMode.VERIFY_IDENTITY, True, False, True, True),
        (MariaDbTlsMode.DISABLE, False, False, False, False),
        (MariaDbTlsMode.TRUST, True, False, False, False),
        (MariaDbTlsMode.VERIFY_CA, True, False, True, False),
        (MariaDbTlsMode.VERIFY_FULL, True, False, True, True),
    ],
)
def test_mode(mode: TlsMode, encrypted: bool, plain_instead: bool, verify: bool, host: bool, tmp_path: Path) -> None:
    demands = DEMANDS[mode]
    assert (demands.encrypted, demands.plain_instead) == (encrypted, plain_instead)
    keys, trusted = write_stores(tmp_path)
    context = client_context(demands, keys, trusted)
    assert (context.verify_mode is ssl.CERT_REQUIRED, context.check_hostname) == (verify, host)
    if verify:
        assert [certificate["serialNumber"] for certificate in context.get_ca_certs()] == ["01"]


def test_each_mode_has_a_row() -> None:
    assert set(DEMANDS) == {*MySqlTlsMode, *MariaDbTlsMode}


def test_without_stores() -> None:
    assert client_context(DEMANDS[MySqlTlsMode.VERIFY_IDENTITY], None, None).check_hostname


def test_no_store(tmp_path: Path) -> None:
    missing = StoreFile(str(tmp_path / "missing.jks"), PASSWORD)
    with pytest.raises(ConfigError, match=r"Cannot read the key store .*missing\.jks"):
        client_context(DEMANDS[MySqlTlsMode.REQUIRED], missing, None)
    with pytest.raises(ConfigError, match=r"missing\.jks"):
        client_context(DEMANDS[MySqlTlsMode.VERIFY_CA], None, missing)
    client_context(DEMANDS[MySqlTlsMode.REQUIRED], None, missing)


def test_wrong_password(tmp_path: Path) -> None:
    keys, _ = write_stores(tmp_path)
    with pytest.raises(ConfigError, match="password is wrong") as raised:
        client_context(DEMANDS[MariaDbTlsMode.TRUST], StoreFile(keys.location, "other"), None)
    assert "other" not in raised.value.message
