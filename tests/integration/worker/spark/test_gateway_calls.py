"""Names of the JVM are looked up once, and mean the same as before."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from py4j.java_gateway import JavaPackage, java_import
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)


@contextmanager
def commands(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The commands that are sent to the JVM meanwhile."""
    client: Any = spark._jvm._gateway_client  # type: ignore[union-attr]
    sent: list[str] = []
    send = client.send_command

    def noted(command: str, *others: Any, **named: Any) -> Any:
        sent.append(command)
        return send(command, *others, **named)

    with monkeypatch.context() as patched:
        patched.setattr(client, "send_command", noted)
        yield sent


def test_an_expression_is_one_call(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    F.lower("a")
    with commands(spark, monkeypatch) as sent:
        F.lower(F.lower("a"))
    assert not [command for command in sent if command.startswith("r\n")], "looks up a name"


def test_names_of_classes_packages_and_methods_are_remembered(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    assert jvm.java is jvm.java
    assert jvm.java.util.UUID is jvm.java.util.UUID
    assert jvm.java.util.UUID.randomUUID is jvm.java.util.UUID.randomUUID
    assert jvm.java.util.UUID.randomUUID() != jvm.java.util.UUID.randomUUID()
    assert getattr(jvm, "org.apache.spark.sql.functions") is getattr(jvm, "org.apache.spark.sql.functions")


def test_values_of_fields_are_not_remembered(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    assert jvm.java.io.File.separator == "/"
    assert "separator" not in vars(jvm.java.io.File)


def test_a_class_may_be_imported_after_its_name_was_used(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    assert isinstance(jvm.StampedLock, JavaPackage)
    java_import(jvm, "java.util.concurrent.locks.StampedLock")
    assert jvm.StampedLock().isReadLocked() is False


def test_a_method_that_is_missing_is_an_error_each_time(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    for _ in range(2):
        with pytest.raises(Py4JError, match=r"java\.util\.UUID\.nothing does not exist"):
            jvm.java.util.UUID.nothing  # noqa: B018 (looked up)


def test_values_of_numpy_are_arguments_as_before(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    assert jvm.java.lang.Integer.toString(np.int32(7)) == "7"
    assert jvm.java.util.Arrays.toString(np.array([1.5, 2.5])) == "[1.5, 2.5]"
    row = spark.range(1).select(F.lit(np.float64(0.5)).alias("a"), F.lit([1, 2]).alias("b")).first()
    assert row is not None
    assert row.asDict() == {"a": 0.5, "b": [1, 2]}


def test_a_worker_is_imported_without_pandas() -> None:
    """At 796f47d a table of no rows imported it, and the first argument of a call."""
    code = "import sys, connect_dagster.cli.worker.standalone; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
