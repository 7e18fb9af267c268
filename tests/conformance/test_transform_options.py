"""Every option of every transform: defined as in Java, and shown by a test that is in the table."""

import importlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from connect_dagster.isolation.plugins import Kind, Plugins
from connect_dagster.plugin.converter import Predicate, Transform
from tests.conformance.transform_table import OPTIONS
from tests.golden_answers import Golden

Plugin = Transform | Predicate

PLUGINS: tuple[type[Plugin], ...] = tuple(
    one.plugin
    for one in Plugins().all([Kind.TRANSFORMATION, Kind.PREDICATE])
    if (one.plugin.java_class or "").startswith("org.apache.kafka.")
)
"""All that Kafka has too."""


def java_name(transform: type[Plugin]) -> str:
    assert transform.java_class is not None
    return transform.java_class


def simple_name(transform: type[Plugin]) -> str:
    return java_name(transform).rpartition(".")[2].partition("$")[0]


@pytest.fixture(scope="module")
def java(golden: Golden) -> dict[str, Any]:
    definitions: dict[str, Any] = golden.answer("definitions", definitions_of_java)
    return definitions


def definitions_of_java() -> dict[str, Any]:
    jars = os.pathsep.join(map(str, resolve("java-connect")))
    program = Path(__file__).with_name("TransformDefinitions.java")
    command = [
        str(find_java()),
        "-XX:TieredStopAtLevel=1",
        "-cp",
        jars,
        str(program),
        *map(java_name, PLUGINS),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, f"a JDK is needed to launch a source file:\n{ran.stderr}"
    answer: dict[str, Any] = json.loads(ran.stdout.partition("ANSWER")[2])
    return answer


def facts(infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All but the sentences, which are ours."""
    return [{name: value for name, value in info.items() if name != "documentation"} for info in infos]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("transform", PLUGINS, ids=java_name)
def test_options_are_defined_as_in_java(java: dict[str, Any], transform: type[Plugin]) -> None:
    assert facts(transform.config_def.key_infos()) == facts(java[java_name(transform)])


@pytest.mark.parametrize("transform", PLUGINS, ids=java_name)
def test_every_option_has_its_test(transform: type[Plugin]) -> None:
    assert {info["name"] for info in transform.config_def.key_infos()} == set(OPTIONS[simple_name(transform)])


@pytest.mark.parametrize("shown", sorted({test for options in OPTIONS.values() for test in options.values()}))
def test_tests_of_options_exist(shown: str) -> None:
    module, _, function = shown.partition("::")
    assert callable(getattr(importlib.import_module(f"tests.conformance.{module}"), function))
