"""The example of a login to Amazon MSK, as far as it goes without AWS: the token's form, its end, and its errors."""

import base64
import importlib.metadata
import time
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from confluent_kafka import KafkaError

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.java.properties import load_properties
from connect_dagster.kafka import clients
from connect_dagster.kafka.security.jwt_retrievers import GROUP
from connect_dagster.kafka.settings.security import client_tokens

pytestmark = pytest.mark.nightly

EXAMPLE = Path(__file__).parents[3] / "examples" / "msk_iam"
PROPERTIES = load_properties(str(EXAMPLE / "connect-distributed.properties"))
LIFE_SECONDS = 900
KEY = "AKIAIOSFODNN7EXAMPLE"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Declare the example's class as its distribution does, without any credentials of AWS."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    points = [
        importlib.metadata.EntryPoint(name, value, GROUP) for name, value in project["entry-points"][GROUP].items()
    ]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points if group == GROUP else [])
    monkeypatch.syspath_prepend(str(EXAMPLE))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")


def settings(prefix: str = "", **more: str) -> dict[str, str]:
    """Return the example's settings of a client, with another login where it is given."""
    names = ("security.protocol", "sasl.mechanism", "sasl.oauthbearer.jwt.retriever.class", "sasl.jaas.config")
    return {name: PROPERTIES[f"{prefix}{name}"] for name in names} | {k.replace("_", "."): v for k, v in more.items()}


def test_all_clients_of_the_worker_have_the_same_login() -> None:
    assert settings() == settings("producer.") == settings("consumer.")


@pytest.mark.usefixtures("credentials")
def test_a_token_is_a_signed_url_with_an_end() -> None:
    tokens = client_tokens(settings(sasl_oauthbearer_scope="form"))
    assert tokens is not None
    token = tokens.next()
    url = urlsplit(base64.urlsafe_b64decode(token.value + "=" * (-len(token.value) % 4)).decode())
    assert (url.scheme, url.netloc) == ("https", "kafka.eu-central-1.amazonaws.com")
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert query["Action"] == "kafka-cluster:Connect"
    assert query["X-Amz-Expires"] == str(LIFE_SECONDS)
    assert query["X-Amz-Credential"].startswith(f"{KEY}/")
    assert query["X-Amz-Credential"].endswith("/eu-central-1/kafka-cluster/aws4_request")
    assert len(query["X-Amz-Signature"]) == 64
    assert abs(token.expires_at - time.time() - LIFE_SECONDS) < 60


@pytest.mark.usefixtures("credentials")
def test_librdkafka_takes_it() -> None:
    errors: list[KafkaError] = []
    settings_of = settings(sasl_oauthbearer_scope="client", bootstrap_servers="127.0.0.1:1")
    admin = clients.admin(settings_of, {"error_cb": errors.append})
    for _ in range(10):
        admin.poll(0.1)
    assert [one for one in errors if one.code() == KafkaError._AUTHENTICATION] == []


def test_without_credentials_there_is_one_error() -> None:
    with pytest.raises(ConnectError, match="boto3 finds no credentials of AWS to sign with"):
        client_tokens(settings(sasl_oauthbearer_scope="nobody"))


def test_a_profile_that_is_missing_is_named() -> None:
    line = settings()["sasl.jaas.config"].replace(";", ' profile="shop";')
    with pytest.raises(ConnectError, match=r"AWS gives no credentials to sign with: .*shop"):
        client_tokens(settings(sasl_jaas_config=line))


def test_a_region_that_is_missing_is_one_error() -> None:
    line = settings()["sasl.jaas.config"].replace(' region="eu-central-1"', "")
    with pytest.raises(ConfigError, match="MskIam needs a region: set AWS_REGION, or region="):
        client_tokens(settings(sasl_jaas_config=line))
