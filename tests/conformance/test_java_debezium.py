"""Debezium's connectors for Java are here as Kafka Connect wants its plugins."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from connect_dagster.embedded.broker_config import FAST_START
from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from tests.conformance.java_debezium import Debezium, plugin_path

pytestmark = pytest.mark.nightly  # `make test` has Java's recorded answers, and need not load these jars


@pytest.mark.parametrize("connector", Debezium, ids=lambda connector: connector.name)
def test_jars_have_the_connector(connector: Debezium) -> None:
    name = f"{connector.java_class.replace('.', '/')}.class"
    holding = []
    for jar in connector.jars:
        with zipfile.ZipFile(jar) as file:
            holding += [jar.name] if name in file.namelist() else []
    assert len(holding) == 1


def test_kafka_connect_finds_both(tmp_path: Path) -> None:
    class_path = os.pathsep.join(map(str, resolve("java-connect")))
    command: list[str | Path] = [
        find_java(),
        *FAST_START,
        "-cp",
        class_path,
        "org.apache.kafka.tools.ConnectPluginPath",
    ]
    command += ["list", "--plugin-path", plugin_path(tmp_path / "plugins")]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=200, check=True).stdout
    rows = [line.split("\t") for line in listed.splitlines()]
    versions = {name: version for name, _, _, version, *_ in (row for row in rows if len(row) > 3)}
    assert versions[Debezium.MYSQL.java_class] == "3.6.1.Final"
    assert versions[Debezium.MARIADB.java_class] == "3.5.0.Final"
