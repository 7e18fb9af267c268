"""A registry that is reached by TLS, with key stores as Kafka's settings name them."""

import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from connect_dagster.converters.avro.converter import AvroConverter
from connect_dagster.errors import RetriableError
from connect_dagster.kafka.security.key_stores import KeyStore, read_store
from tests.key_tool import PASSWORD, make_key, make_variants, trust

pytestmark = pytest.mark.nightly

HOST = "127.0.0.1"
SSL = "schema.registry.ssl"
Variants = dict[str, dict[str, str]]


SPOKEN: list[tuple[str, str]] = []
"""Suite and version of each request."""


class OneSchema(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        suite, version, _ = self.connection.cipher()
        SPOKEN.append((suite, version))
        body = b'{"schema": "\\"string\\""}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    for name in ("registry", "client"):
        make_key(folder, name)
    trust(folder, "registry", "trusted.jks", "JKS")
    trust(folder, "registry", "trusted.p12", "PKCS12")
    return folder


@pytest.fixture(scope="module")
def variants(stores: Path) -> Variants:
    """Settings of the client's key by kind of store."""
    return make_variants(stores, "client")


@pytest.fixture(scope="module")
def registry(stores: Path) -> Iterator[str]:
    """Address of a registry that lets in those only who show the client's certificate."""
    own, client = (read_store(str(stores / f"{name}.jks"), PASSWORD) for name in ("registry", "client"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_key_and_chain(own, stores / "registry.pem"))
    context.load_verify_locations(cadata=client.certificates_pem())
    context.verify_mode = ssl.CERT_REQUIRED
    server = HTTPServer((HOST, 0), OneSchema)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://{HOST}:{server.server_port}"
    server.shutdown()
    server.server_close()


def _key_and_chain(store: KeyStore, file: Path) -> Path:
    assert store.key is not None
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    file.write_text(key + store.certificates_pem())
    return file


def asked(url: str, options: dict[str, str]) -> str:
    """Text of a schema, asked with these options."""
    converter = AvroConverter()
    converter.configure({"schema.registry.url": url, "max.retries": "0", **options}, is_key=False)
    try:
        return converter.registry.schema(1).text
    finally:
        converter.registry.close()


def _stores(stores: Path, key: str, trusted: str) -> dict[str, str]:
    return {
        f"{SSL}.keystore.location": str(stores / key),
        f"{SSL}.keystore.password": PASSWORD,
        f"{SSL}.truststore.location": str(stores / trusted),
        f"{SSL}.truststore.password": PASSWORD,
    }


@pytest.mark.parametrize("trusted", ["trusted.jks", "trusted.p12", "registry.crt.pem"])
def test_both_sides_show_certificates(registry: str, stores: Path, trusted: str) -> None:
    pem = read_store(str(stores / "registry.jks"), PASSWORD).certificates_pem()
    (stores / "registry.crt.pem").write_text(pem)
    assert asked(registry, _stores(stores, "client.jks", trusted)) == '"string"'


def test_keys_may_stand_in_the_options(registry: str, stores: Path) -> None:
    client, own = (read_store(str(stores / f"{name}.jks"), PASSWORD) for name in ("client", "registry"))
    options = {
        f"{SSL}.keystore.key": client.key_pem(None),
        f"{SSL}.keystore.certificate.chain": client.certificates_pem(),
        f"{SSL}.truststore.certificates": own.certificates_pem(),
    }
    assert asked(registry, options) == '"string"'


@pytest.mark.parametrize("kind", ["JKS", "PKCS12", "own password"])
def test_keys_of_all_kinds_of_stores(registry: str, stores: Path, variants: Variants, kind: str) -> None:
    own = {f"schema.registry.{name}": value for name, value in variants[kind].items()}
    assert asked(registry, {**_stores(stores, "client.jks", "trusted.p12"), **own}) == '"string"'


@pytest.mark.parametrize(
    ("options", "spoken"),
    [
        ({f"{SSL}.enabled.protocols": "TLSv1.2"}, ("ECDHE-RSA-AES256-GCM-SHA384", "TLSv1.2")),
        ({f"{SSL}.protocol": "TLSv1.2"}, ("ECDHE-RSA-AES256-GCM-SHA384", "TLSv1.2")),
        (
            {f"{SSL}.cipher.suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
            ("ECDHE-RSA-AES128-GCM-SHA256", "TLSv1.2"),
        ),
        ({f"{SSL}.enabled.protocols": "TLSv1.3"}, ("TLS_AES_256_GCM_SHA384", "TLSv1.3")),
    ],
)
def test_versions_and_suites(registry: str, stores: Path, options: dict[str, str], spoken: tuple[str, str]) -> None:
    SPOKEN.clear()
    assert asked(registry, {**_stores(stores, "client.jks", "trusted.jks"), **options}) == '"string"'
    assert [(suite, "TLSv1.3" if "TLS_" in suite else "TLSv1.2") for suite, _ in SPOKEN] == [spoken]


def test_the_name_of_the_host_counts_unless_it_need_not(registry: str, stores: Path) -> None:
    other, options = registry.replace(HOST, "localhost"), _stores(stores, "client.jks", "trusted.jks")
    with pytest.raises(RetriableError, match="Hostname mismatch"):
        asked(other, options)
    assert asked(other, {**options, f"{SSL}.endpoint.identification.algorithm": ""}) == '"string"'


def test_a_registry_that_is_not_trusted_is_not_asked(registry: str, stores: Path) -> None:
    with pytest.raises(RetriableError, match="certificate verify failed"):
        asked(registry, _stores(stores, "client.jks", "client.jks"))
