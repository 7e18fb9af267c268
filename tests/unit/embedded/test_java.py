"""Finding Java: real programs in real directories decide."""

import os
from pathlib import Path

import pytest

from connect_dagster.embedded.errors import JavaNotFound
from connect_dagster.embedded.java import find_java


def _java(directory: Path, version_text: str, exit_code: int = 0) -> Path:
    directory.mkdir(parents=True)
    java = directory / "java"
    java.write_text(f"#!/bin/sh\necho '{version_text}' >&2\nexit {exit_code}\n")
    java.chmod(0o755)
    return java


def _one_sentence(error: pytest.ExceptionInfo[JavaNotFound]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith("Java 17 to 23 is needed")
    assert text.endswith(".")
    return text


def test_this_machines_java_is_found() -> None:
    assert find_java().name == "java"


def test_no_java_on_an_empty_path() -> None:
    with pytest.raises(JavaNotFound) as error:
        find_java({"PATH": ""})
    assert "java is not on PATH" in _one_sentence(error)


def test_java_home_without_java(tmp_path: Path) -> None:
    with pytest.raises(JavaNotFound) as error:
        find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert f"JAVA_HOME={tmp_path} has no bin/java" in _one_sentence(error)


def test_java_home_goes_before_path(tmp_path: Path) -> None:
    at_home = _java(tmp_path / "home" / "bin", 'openjdk version "21.0.2" 2024-01-16')
    _java(tmp_path / "path", 'openjdk version "17.0.1"')
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path")}) == at_home


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ('java version "1.8.0_402"', 8),
        ('openjdk version "16.0.2"', 16),
        ('openjdk version "24" 2025-03-18', 24),
        ('openjdk version "25-ea" 2025-09-16', 25),
    ],
)
@pytest.mark.parametrize("by", ["JAVA_HOME", "PATH"])
def test_java_that_spark_does_not_run_on(tmp_path: Path, said: str, version: int, by: str) -> None:
    """At b69e16c a worker started with Java 24 and failed at its first file."""
    java = _java(tmp_path / "bin", said)
    with pytest.raises(JavaNotFound) as error:
        find_java({"JAVA_HOME": str(tmp_path)} if by == "JAVA_HOME" else {"PATH": str(java.parent)})
    assert f"{java} is Java {version}:" in _one_sentence(error)


@pytest.mark.parametrize("said", ['openjdk version "17"', 'openjdk version "23-ea" 2024-09-17'])
def test_java_that_spark_runs_on(tmp_path: Path, said: str) -> None:
    java = _java(tmp_path / "bin", said)
    assert find_java({"PATH": str(java.parent)}) == java


def test_of_several_on_path_the_first_that_fits(tmp_path: Path) -> None:
    javas = [_java(tmp_path / version, f'openjdk version "{version}"') for version in ("25", "11", "21", "17")]
    folders = [java.parent for java in javas]
    assert find_java({"PATH": os.pathsep.join(map(str, folders))}) == javas[2]
    with pytest.raises(JavaNotFound) as error:
        find_java({"PATH": os.pathsep.join(map(str, folders[:2]))})
    assert f"{javas[0]} is Java 25, {javas[1]} is Java 11:" in _one_sentence(error)


def test_java_home_is_not_replaced_by_one_on_path(tmp_path: Path) -> None:
    java = _java(tmp_path / "bin", 'openjdk version "25"')
    fits = _java(tmp_path / "path", 'openjdk version "17"')
    with pytest.raises(JavaNotFound) as error:
        find_java({"JAVA_HOME": str(tmp_path), "PATH": str(fits.parent)})
    assert f"{java} is Java 25:" in _one_sentence(error)


def test_java_that_does_not_tell_its_version(tmp_path: Path) -> None:
    java = _java(tmp_path / "bin", "no such option", exit_code=1)
    with pytest.raises(JavaNotFound) as error:
        find_java({"PATH": str(java.parent)})
    assert "said only" in _one_sentence(error)
