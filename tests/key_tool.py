"""Key stores as Java's ``keytool`` writes them."""

import subprocess
from pathlib import Path

from connect_dagster.embedded.java import find_java

PASSWORD = "store-secret"


def make_key(folder: Path, name: str, password: str = PASSWORD) -> None:
    """Write ``<name>.jks`` with a key for this machine's address, and ``<name>.crt`` with its certificate."""
    key = ("-genkeypair", "-alias", name, "-keyalg", "RSA", "-keysize", "2048", "-dname", f"CN={name}")
    store = ("-keystore", f"{name}.jks")
    _keytool(folder, password, *key, "-ext", "SAN=IP:127.0.0.1", *store, "-storetype", "JKS")
    _keytool(folder, password, "-exportcert", "-alias", name, *store, "-file", f"{name}.crt")


def trust(folder: Path, name: str, store: str, kind: str, password: str = PASSWORD) -> None:
    """Write a store, of the kind ``JKS`` or ``PKCS12``, that trusts ``<name>.crt``."""
    into = ("-keystore", store, "-storetype", kind)
    _keytool(folder, password, "-importcert", "-noprompt", "-alias", name, "-file", f"{name}.crt", *into)


def _keytool(folder: Path, password: str, *arguments: str) -> None:
    program = find_java().with_name("keytool")
    words = [str(program), *arguments, "-storepass", password]
    subprocess.run(words, cwd=folder, capture_output=True, timeout=60, check=True)
