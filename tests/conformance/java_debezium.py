"""Debezium's connectors for Java: their jars, as plugins of Kafka Connect and on a class path."""

import json
import os
import subprocess
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from connect_dagster.embedded.broker_config import FAST_START
from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java

_OF_THE_WORKER = ("connect-api-", "kafka-clients-", "slf4j-api-")
_ANSWER = "ANSWER"


class Debezium(Enum):
    """A connector: the name of its set of jars, and its class."""

    MYSQL = "debezium-mysql", "io.debezium.connector.mysql.MySqlConnector"
    MARIADB = "debezium-mariadb", "io.debezium.connector.mariadb.MariaDbConnector"

    @property
    def jar_set(self) -> str:
        """The name of its set in the lock of jars."""
        return self.value[0]

    @property
    def java_class(self) -> str:
        """The connector's class."""
        return self.value[1]

    @property
    def jars(self) -> list[Path]:
        """Its jars with those of its dependencies, but for what a worker brings."""
        return [jar for jar in resolve(self.jar_set) if not jar.name.startswith(_OF_THE_WORKER)]

    @property
    def class_path(self) -> str:
        """Its jars before those of Kafka Connect, for programs without plugins."""
        return os.pathsep.join(map(str, [*self.jars, *resolve("java-connect")]))


def plugin_path(folder: Path) -> Path:
    """Make a folder for `plugin.path` that has each connector in a folder of its own, as links to the jars."""
    for connector in Debezium:
        plugin = folder / connector.jar_set
        plugin.mkdir(parents=True)
        for jar in connector.jars:
            (plugin / jar.name).symlink_to(jar)
    return folder


def answer_of(connector: Debezium, program: Path, *arguments: str) -> Any:
    """Return the JSON that a program prints after `ANSWER`, run from its source with the jars of a connector.

    Args:
        connector: the one whose class path the program has.
        program: a Java file.
        arguments: the program's.
    """
    command = [str(find_java()), *FAST_START, "-Xmx256m", "-cp", connector.class_path, str(program), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, f"a JDK is needed to launch a source file:\n{ran.stderr[-4000:]}"
    return json.loads(ran.stdout.partition(_ANSWER)[2])


def definitions(connector: Debezium, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the configuration definitions of classes, each a list of keys as the REST API has them."""
    answer: dict[str, list[dict[str, Any]]] = answer_of(
        connector, Path(__file__).with_name("DebeziumOptionsInJava.java"), *names
    )
    return answer
