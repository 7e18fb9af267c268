"""Key stores as ``keytool`` writes them, in both of Java's formats."""

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from connect_dagster.embedded.java import find_java
from connect_dagster.errors import ConfigError
from connect_dagster.java.jks import JksError, read_jks
from connect_dagster.kafka.security.key_stores import KeyStore, read_pem, read_store
from tests.golden_answers import Golden

PASSWORD, KEY_PASSWORD = "store-secret", "key-geheim-ä"


def keytool(folder: Path, *arguments: str) -> str:
    program = find_java().with_name("keytool")
    words = [str(program), "-J-Dfile.encoding=UTF-8", "-J-Dsun.jnu.encoding=UTF-8", *arguments]
    environment = {"LC_ALL": "C.UTF-8"}
    ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


@pytest.fixture(scope="module")
def stores(golden: Golden, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``own.jks`` with a key of its own password, ``shared.jks``, ``own.p12``, ``trust.jks`` with one certificate."""
    folder = tmp_path_factory.mktemp("stores")
    for name, content in golden.varying("stores", lambda: made_by_keytool(folder)).items():
        (folder / name).write_bytes(content)
    return folder


def made_by_keytool(folder: Path) -> dict[str, bytes]:
    made = ("-genkeypair", "-alias", "own", "-keyalg", "RSA", "-keysize", "2048", "-dname", "CN=worker", "-storepass")
    keytool(folder, *made, PASSWORD, "-storetype", "JKS", "-keystore", "own.jks", "-keypass", KEY_PASSWORD)
    keytool(folder, *made, PASSWORD, "-storetype", "JKS", "-keystore", "shared.jks")
    keytool(folder, *made, PASSWORD, "-storetype", "PKCS12", "-keystore", "own.p12")
    out = ("-exportcert", "-alias", "own", "-keystore", "own.jks", "-storepass", PASSWORD, "-file", "own.crt")
    keytool(folder, *out)
    into = ("-importcert", "-noprompt", "-alias", "trusted", "-keystore", "trust.jks", "-storetype", "JKS")
    keytool(folder, *into, "-storepass", PASSWORD, "-file", "own.crt")
    return {name: (folder / name).read_bytes() for name in ("own.jks", "shared.jks", "own.p12", "trust.jks")}


def fits(store: KeyStore) -> bool:
    """Whether the key is that of the first certificate."""
    assert isinstance(store.key, RSAPrivateKey)
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return store.key.public_key().public_bytes(*form) == store.certificates[0].public_key().public_bytes(*form)


@pytest.mark.parametrize(
    ("file", "key_password"),
    [("own.jks", KEY_PASSWORD), ("shared.jks", None), ("shared.jks", PASSWORD), ("own.p12", None)],
)
def test_a_key_with_its_certificate(stores: Path, file: str, key_password: str | None) -> None:
    store = read_store(str(stores / file), PASSWORD, key_password)
    assert [one.subject.rfc4514_string() for one in store.certificates] == ["CN=worker"]
    assert fits(store)


@pytest.mark.parametrize("password", [PASSWORD, None])
def test_a_trust_store_needs_no_password(stores: Path, password: str | None) -> None:
    store = read_store(str(stores / "trust.jks"), password)
    assert store.key is None
    assert store.certificates == read_store(str(stores / "own.jks"), PASSWORD, KEY_PASSWORD).certificates


@pytest.mark.parametrize(
    ("file", "password", "key_password", "text"),
    [
        ("own.jks", "wrong", KEY_PASSWORD, "Keystore was tampered with, or password was incorrect"),
        ("own.jks", PASSWORD, None, "Cannot recover key: the password of the key is wrong"),
        ("own.jks", None, None, "Cannot recover key: it needs the password of the store or the key"),
        ("own.p12", "wrong", None, "is not a PKCS12 store, or its password is wrong"),
    ],
)
def test_wrong_passwords(stores: Path, file: str, password: str | None, key_password: str | None, text: str) -> None:
    with pytest.raises(ConfigError, match=text) as caught:
        read_store(str(stores / file), password, key_password)
    assert str(stores / file) in str(caught.value)


def test_every_damaged_byte_is_noticed(stores: Path) -> None:
    content = (stores / "trust.jks").read_bytes()
    for place in range(0, len(content), 37):
        damaged = bytearray(content)
        damaged[place] ^= 1
        with pytest.raises(JksError):
            read_jks(bytes(damaged), PASSWORD)


def test_a_store_that_ends_too_early(stores: Path) -> None:
    content = (stores / "own.jks").read_bytes()
    for end in range(0, len(content) - 21, 101):
        with pytest.raises(JksError):
            read_jks(content[:end], None, KEY_PASSWORD)


def test_a_block_ends_with_its_own_label(stores: Path) -> None:
    store = read_store(str(stores / "own.p12"), PASSWORD)
    certificate, key = store.certificates_pem(), store.key_pem(None)
    begun = "-----BEGIN CERTIFICATE REQUEST-----"
    read = read_pem(f"{begun}{key} text {certificate.replace(chr(10), ' ')}", None, "here")
    assert (read.key_pem(None), read.certificates_pem()) == (key, certificate)


@pytest.mark.parametrize("unit", ["-----BEGIN A-----", "-----END A-----", "-----BEGIN A-----x-----END B-----"])
def test_long_text_takes_time_in_proportion(unit: str) -> None:
    """At 1f0d1e0 40,000 characters of the first took 0.6 s of CPU, and these 17 minutes."""
    with pytest.raises(ConfigError, match=r"^here holds no PEM: neither a certificate nor a private key$"):
        read_pem(unit * (1_600_000 // len(unit)), None, "here")


def test_one_long_block_takes_time_in_proportion() -> None:
    """At 1f0d1e0 a million characters took 0.35 s of CPU, and these half a minute."""
    with pytest.raises(ConfigError, match=r"^here holds PEM that cannot be read: "):
        read_pem(f"-----BEGIN CERTIFICATE-----{'x' * 10_000_000}-----END CERTIFICATE-----", None, "here")
