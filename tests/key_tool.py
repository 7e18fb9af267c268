"""Key stores as Java's ``keytool`` writes them."""

import subprocess
from pathlib import Path

from connect_dagster.embedded.java import find_java

PASSWORD, KEY_PASSWORD = "store-secret", "key-secret"


def make_key(folder: Path, name: str, password: str = PASSWORD) -> None:
    """Write ``<name>.jks`` with a key for this machine's address, and ``<name>.crt`` with its certificate."""
    key = ("-genkeypair", "-alias", name, "-keyalg", "RSA", "-keysize", "2048", "-dname", f"CN={name}")
    store = ("-keystore", f"{name}.jks")
    _keytool(folder, password, *key, "-ext", "SAN=IP:127.0.0.1", *store, "-storetype", "JKS")
    _keytool(folder, password, "-exportcert", "-alias", name, *store, "-file", f"{name}.crt")


def make_variants(folder: Path, name: str) -> dict[str, dict[str, str]]:
    """Write the key of ``<name>.jks`` into stores of other kinds; return Kafka's settings for each kind.

    ``PKCS12`` is keytool's default: AES-256 with PBES2. ``own password`` is JKS, whose key has a password of its own;
    keytool gives none to keys in PKCS12.
    """
    source = ("-srckeystore", f"{name}.jks", "-srcstorepass", PASSWORD, "-srcalias", name)
    _keytool(folder, PASSWORD, "-importkeystore", *source, "-destkeystore", f"{name}.p12")
    store = ("-destkeystore", f"{name}-own.jks", "-deststoretype", "JKS")
    _keytool(folder, PASSWORD, "-importkeystore", *source, *store, "-destkeypass", KEY_PASSWORD)
    files = {"JKS": f"{name}.jks", "PKCS12": f"{name}.p12", "own password": f"{name}-own.jks"}
    made = {
        kind: {"ssl.keystore.location": str(folder / file), "ssl.keystore.password": PASSWORD}
        for kind, file in files.items()
    }
    made["own password"]["ssl.key.password"] = KEY_PASSWORD
    return made


def trust(folder: Path, name: str, store: str, kind: str, password: str = PASSWORD) -> None:
    """Write a store, of the kind ``JKS`` or ``PKCS12``, that trusts ``<name>.crt``."""
    into = ("-keystore", store, "-storetype", kind)
    _keytool(folder, password, "-importcert", "-noprompt", "-alias", name, "-file", f"{name}.crt", *into)


def _keytool(folder: Path, password: str, *arguments: str) -> None:
    program = find_java().with_name("keytool")
    given = "-deststorepass" if "-importkeystore" in arguments else "-storepass"
    words = [str(program), *arguments, given, password]
    subprocess.run(words, cwd=folder, capture_output=True, timeout=60, check=True)
