"""Options of the JVMs of a cluster's executors."""

import pytest

from connect_dagster.worker.spark.settings import spark_settings

OPTIONS = "spark.executor.extraJavaOptions"
CLUSTER = {"spark.master": "spark://h:7077"}


@pytest.fixture(autouse=True)
def _no_realms(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KAFKA_OPTS", "KRB5_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def test_the_user_s_stand_behind_ours() -> None:
    assert spark_settings(CLUSTER)[OPTIONS] == "-Duser.timezone=UTC"
    given = CLUSTER | {OPTIONS: "-Duser.timezone=CET -Xss2m"}
    assert spark_settings(given)[OPTIONS] == "-Duser.timezone=UTC -Duser.timezone=CET -Xss2m"
    assert OPTIONS not in spark_settings({}), "they run in the driver's JVM"


@pytest.mark.parametrize(
    ("name", "value"),
    [("KAFKA_OPTS", "'-Djava.security.krb5.conf=/my realms/krb5.conf'"), ("KRB5_CONFIG", "/my realms/krb5.conf:/b")],
)
def test_their_realms_are_those_of_the_worker(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert spark_settings(CLUSTER)[OPTIONS] == "-Duser.timezone=UTC '-Djava.security.krb5.conf=/my realms/krb5.conf'"
