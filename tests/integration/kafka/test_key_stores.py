"""Keys of keytool's kinds of stores, shown to a broker by both client libraries, and by a listener of the REST API."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from connect_dagster.errors import ConfigError
from connect_dagster.kafka import clients
from connect_dagster.kafka.groups import commit_group_offsets, fetch_group_offsets
from connect_dagster.kafka.security.tls_stores import TlsStores
from tests.integration.worker.secured_broker import SecuredBroker, secured_broker
from tests.key_tool import make_variants
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import serving

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

KINDS = ("JKS", "PKCS12", "own password")
SECONDS = 60.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def secured(folder: Path) -> Iterator[SecuredBroker]:
    with secured_broker(folder) as made:
        yield made


@pytest.fixture(scope="module")
def stores(secured: SecuredBroker, folder: Path) -> dict[str, dict[str, str]]:
    """Settings of the client's key by kind of store."""
    return make_variants(folder, "client")


@pytest.mark.parametrize("kind", KINDS)
def test_brokers_take_the_key(
    secured: SecuredBroker, stores: dict[str, dict[str, str]], kind: str, topic_prefix: str
) -> None:
    servers, safe = secured.safe
    settings = {"bootstrap.servers": servers, **safe, **stores[kind]}
    topic = f"{topic_prefix}t"
    producer = clients.producer(settings)
    producer.produce(topic, b"one")
    assert producer.flush(SECONDS) == 0
    commit_group_offsets(settings, f"{topic_prefix}g", {(topic, 0): (1, "")}, SECONDS)
    assert fetch_group_offsets(settings, [f"{topic_prefix}g"], SECONDS) == {f"{topic_prefix}g": {(topic, 0): (1, "")}}


def test_a_key_whose_own_password_is_missing_is_one_error(
    secured: SecuredBroker, stores: dict[str, dict[str, str]]
) -> None:
    servers, safe = secured.safe
    given = {name: value for name, value in stores["own password"].items() if name != "ssl.key.password"}
    with pytest.raises(ConfigError, match=r"client-own\.jks cannot be read: Cannot recover key: the password"):
        clients.admin({"bootstrap.servers": servers, **safe, **given})


@pytest.mark.parametrize("kind", KINDS)
def test_a_listener_shows_the_key(folder: Path, stores: dict[str, dict[str, str]], kind: str) -> None:
    pem = folder / "client.pem"
    pem.write_text(_certificate(stores["JKS"]))
    with serving(MemoryHerder(), "https://127.0.0.1:0", **stores[kind]) as server:
        answer = requests.get(f"{server.advertised_url}connectors", verify=str(pem), timeout=10)
    assert answer.status_code == 200


def _certificate(store: dict[str, str]) -> str:
    found = TlsStores.parse(store).key_store()
    assert found is not None
    return found.certificates_pem()
