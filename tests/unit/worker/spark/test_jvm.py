"""The JVM's command line, which every user of the machine can read."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from connect_dagster.embedded.java import find_java
from connect_dagster.java.properties import load_properties
from connect_dagster.worker.spark.jvm import SparkJvm, class_archive, classpath
from connect_dagster.worker.spark.settings import spark_settings

SECRETS = {
    "spark.master": "spark://127.0.0.1:9",
    "spark.ssl.keyPassword": "canary",
    "spark.hadoop.fs.s3a.secret.key": "canary\\ =:#\n",
    "spark.driver.extraJavaOptions": '-Djavax.net.ssl.trustStorePassword=canary "-Dx=a b\\\\"',
}
JAVA = """#!/bin/sh
printf '%s\\n' "$@" > "{folder}/words"
for word in "$@"; do
    case "$word" in
        @*) cat "${{word#@}}" > "{folder}/options"; stat -c %a "${{word#@}}" > "{folder}/modes" ;;
        *.properties) cat "$word" > "{folder}/spark.properties"; stat -c %a "$word" >> "{folder}/modes" ;;
    esac
done
printf '\\0\\0\\0\\1\\0\\0\\0\\2ab' > "$_PYSPARK_DRIVER_CONN_INFO_PATH"
ls "$(dirname "$_PYSPARK_DRIVER_CONN_INFO_PATH")" > /dev/null
cat > /dev/null
ls "$(dirname "$_PYSPARK_DRIVER_CONN_INFO_PATH")" > "{folder}/left"
"""


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that is started in place of Java and writes down what it gets."""
    program = tmp_path / "java"
    program.write_text(JAVA.format(folder=tmp_path))
    program.chmod(0o755)
    monkeypatch.setattr("connect_dagster.worker.spark.jvm.find_java", lambda: program)
    return tmp_path


def test_r13_the_command_line_has_no_secrets(java: Path) -> None:
    """At ce718d3 all settings were on the command line of a JVM for another master than the local one."""
    jvm = SparkJvm(settings := spark_settings(SECRETS))
    assert jvm.gateway() == (1, "ab")
    jvm.stop(10)
    words = (java / "words").read_text()
    assert "canary" not in words
    assert "org.apache.spark.deploy.SparkSubmit\n--properties-file\n" in words
    assert load_properties(java / "spark.properties") == settings
    assert (java / "options").read_text() == '"-Djavax.net.ssl.trustStorePassword=canary"\n"-Dx=a b\\\\"\n'
    assert (java / "modes").read_text().split() == ["600", "600"]
    assert (java / "left").read_text().split() == ["address"], "what was read is removed"


def test_temporary_files_of_the_jvm_are_in_the_folder_of_the_process(
    java: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(java))
    jvm = SparkJvm(spark_settings({}))
    jvm.gateway()
    jvm.stop(10)
    assert f"-Djava.io.tmpdir={java}\n" in (java / "words").read_text()


def test_a_jvm_that_is_killed_did_not_end_by_itself(java: Path) -> None:
    assert SparkJvm(spark_settings({})).stop(10)
    (java / "java").write_text("#!/bin/sh\nexec sleep 60\n")
    assert not SparkJvm(spark_settings({})).stop(0.1)


def test_a_jvm_that_ends_before_spark_is_connected_is_named(java: Path) -> None:
    """PySpark's own error is that a connection is refused."""
    program = java / "java"
    program.write_text(program.read_text().replace("cat > /dev/null", "exit 3"))
    steps = f"""
from pathlib import Path
from connect_dagster.worker.spark import jvm, session, settings
jvm.find_java = lambda: Path({str(program)!r})
own = settings.spark_settings({{}})
session.Session(own, jvm.SparkJvm(own))
"""
    ran = subprocess.run([sys.executable, "-c", steps], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stderr.rstrip().endswith("ConnectError: The JVM for Spark ended at its start with exit code 3")


def test_one_java_has_one_archive_however_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At b69e16c a worker with another JAVA_HOME of the same Java found no archive, and said nothing."""
    program = tmp_path / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 'openjdk version \"17\"' >&2\n")
    program.chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "jdk")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "java").symlink_to(program)

    def named(**env: Path) -> Path:
        monkeypatch.delenv("JAVA_HOME", raising=False)
        for name, value in env.items():
            monkeypatch.setenv(name, str(value))
        return class_archive()

    first = named(JAVA_HOME=tmp_path / "jdk")
    assert first == named(JAVA_HOME=tmp_path / "link") == named(PATH=tmp_path / "path")
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="17.0.15"\n')
    assert first != named(JAVA_HOME=tmp_path / "jdk"), "Java was upgraded in its place"


def test_a_missing_archive_is_told(
    java: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    archive = java / "classes.jsa"
    monkeypatch.setattr("connect_dagster.worker.spark.jvm.class_archive", lambda: archive)
    with caplog.at_level(logging.INFO):
        SparkJvm(spark_settings({})).stop(10)
    (line,) = caplog.messages
    assert f"is missing, so that the start takes some seconds longer: write {archive}, by `make install` or `" in line
    assert "-m connect_dagster.worker.spark.class_archive`" in line


@pytest.mark.nightly  # starts three JVMs
def test_an_archive_that_the_jvm_refuses_is_told(
    java: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    archive = java / "classes.jsa"
    options = [f"-XX:ArchiveClassesAtExit={archive}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]
    other_order = [
        "-cp",
        os.pathsep.join(map(str, reversed(classpath()))),
        "org.apache.spark.launcher.Main",
    ]
    subprocess.run([find_java(), *options, *other_order], capture_output=True, check=False)
    assert archive.exists()
    monkeypatch.setattr("connect_dagster.worker.spark.jvm.class_archive", lambda: archive)
    monkeypatch.setattr("connect_dagster.worker.spark.jvm.find_java", find_java)
    with caplog.at_level(logging.INFO):
        jvm = SparkJvm(spark_settings({}))
        jvm.gateway()
        jvm.stop(10)
    (line,) = caplog.messages
    assert f"cannot be used, so that the start takes some seconds longer: remove {archive} and write it again" in line
    assert "The JVM says: " in line
