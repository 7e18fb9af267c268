"""Modules that a configuration has imported by the name of a class: those of plugins, and no other."""

import importlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from connect_dagster.errors import BadRequestError, ConfigError, ConnectError
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.plugins import Kind, Plugins
from connect_dagster.testing.recording_sink import RecordingSinkConnector
from connect_dagster.worker.config.worker import StandaloneConfig
from tests.plugin_packages import SOURCE, distribution, write_files

OTHER = "environment_of_a_test"
JSON = "org.apache.kafka.connect.json.JsonConverter"
PROPS = {
    "bootstrap.servers": "b:1",
    "key.converter": JSON,
    "value.converter": JSON,
    "offset.storage.file.filename": "o",
}
CONFIG = {"name": "c", "connector.class": "FileStreamSource", "topic": "t"}
NOT_IMPORTED = (
    "module {} is not imported, as it is neither in the package of a declared plugin, nor on plugin.path, nor in a "
    "package that the worker's plugin.packages names"
)


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on Python's path with a package, a program in it, and a module beside it that begins with its name."""
    files = {f"{OTHER}/__init__.py": "", f"{OTHER}/plugin.py": SOURCE.format(name="Own"), f"{OTHER}/__main__.py": ""}
    write_files(tmp_path, {**files, f"{OTHER}_2.py": SOURCE.format(name="Own")})
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(OTHER)]:
        del sys.modules[name]


def imported() -> list[str]:
    """Modules of the environment that were imported."""
    return [name for name in sys.modules if name.startswith(OTHER)]


def validator(packages: str = "") -> Validator:
    props = PROPS | {"plugin.packages": packages}
    plugins = Plugins.of(props)
    return Validator(plugins, StandaloneConfig.parse(props, plugins.find_class))


@pytest.mark.parametrize(
    "key", ["key.converter", "value.converter", "header.converter", "transforms.a.type", "predicates.a.type"]
)
@pytest.mark.parametrize("module", [f"{OTHER}.plugin", f"{OTHER}_2", f"{OTHER}.__main__", f"{OTHER}.no.such"])
def test_r12_validation_imports_no_module_that_holds_no_plugin(environment: Path, key: str, module: str) -> None:
    """At ce718d3 it imported any module: `this` printed its text, `test.__main__` ran Python's tests in the worker."""
    infos = validator().validate({**CONFIG, "transforms": "a", "predicates": "a", key: f"{module}.OwnConnector"})
    errors = next(one["value"]["errors"] for one in infos["configs"] if one["value"]["name"] == key)
    assert errors[0].startswith(
        f"Invalid value {module}.OwnConnector for configuration {key}: Class {module}.OwnConnector could not be found"
    )
    assert imported() == []


def test_the_error_says_what_would_be_right(environment: Path) -> None:
    plugins = Plugins()
    with pytest.raises(ConnectError) as raised:
        plugins.find_class(f"{OTHER}.plugin.OwnConnector")
    reason = NOT_IMPORTED.format(f"{OTHER}.plugin")
    assert str(raised.value) == f"Class {OTHER}.plugin.OwnConnector could not be found: {reason}."
    with pytest.raises(BadRequestError) as refused:
        validator().validate({**CONFIG, "connector.class": f"{OTHER}.plugin.OwnConnector"})
    assert str(refused.value).startswith(
        f"Failed to find any class that implements Connector and which name matches {OTHER}.plugin.OwnConnector, "
        f"because {reason}. Available connectors are: PluginDesc{{"
    )
    assert imported() == []


@pytest.mark.parametrize("packages", [OTHER, f"{OTHER}.plugin", f" {OTHER}_2 , {OTHER}"])
def test_classes_of_packages_that_the_worker_names(environment: Path, packages: str) -> None:
    name = f"{OTHER}.plugin.OwnConnector"
    found = Plugins.of({"plugin.packages": packages}).connector(name)
    assert (found.class_name, found.kind) == (name, Kind.SOURCE)


@pytest.mark.parametrize("named", [f"{OTHER}_2", f"{OTHER}.plug", f"{OTHER}.plugin.more"])
def test_a_package_does_not_stand_for_others(environment: Path, named: str) -> None:
    assert Plugins(packages=[named]).class_named(f"{OTHER}.plugin.OwnConnector") is None
    assert imported() == []


@pytest.mark.parametrize(
    "program", [f"{OTHER}.__main__", "__main__", "test.__main__", "connect_dagster.cli.worker.__main__"]
)
def test_programs_are_never_imported(environment: Path, program: str) -> None:
    plugins = Plugins(packages=[OTHER, "test", "connect_dagster"])
    with pytest.raises(ConnectError, match=f"^Class {program}.X could not be found: module {program} is a program"):
        plugins.find_class(f"{program}.X")
    assert imported() == []


@pytest.mark.parametrize(
    "name",
    [
        "no.Such",
        "NoSuch",
        "",
        ".",
        "io.debezium.connector.postgresql.PostgresConnector",
        "sys.no.Such",
        "a\0b.C",
        "a-b.C",
    ],
)
def test_other_names_have_javas_text(name: str) -> None:
    assert Plugins().find_class(name) is None


def test_what_authors_test_with_may_be_named() -> None:
    name = "connect_dagster.testing.recording_sink.RecordingSinkConnector"
    assert Plugins().connector(name).plugin is RecordingSinkConnector
    assert Plugins().class_named("connect_dagster.worker.worker.Worker") is None


@pytest.mark.parametrize(
    ("package", "found"), [(OTHER, True), (f"{OTHER}.one", True), (f"{OTHER}.two", False), (f"{OTHER}.three", False)]
)
def test_the_package_of_a_declared_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, found: bool
) -> None:
    """It is the topmost package that is not a namespace of several distributions."""
    modules = {
        f"{OTHER}/plugin.py": SOURCE.format(name="Own"),
        f"{OTHER}/one/__init__.py": "",
        f"{OTHER}/one/plugin.py": SOURCE.format(name="One"),
        f"{OTHER}/one/other.py": SOURCE.format(name="Own"),
        f"{OTHER}/two/plugin.py": SOURCE.format(name="Own"),
    }
    declared = {"One": f"{OTHER}.one.plugin:OneConnector"}
    if package == OTHER:
        modules[f"{OTHER}/__init__.py"] = ""
        package = f"{OTHER}.two"
    write_files(tmp_path, distribution("one_of_a_test", "1", modules, declared))
    monkeypatch.syspath_prepend(tmp_path)
    try:
        plugins = Plugins()
        assert plugins.connector("One").version == "1"
        module = f"{OTHER}.one.other" if package.endswith("one") else f"{package}.plugin"
        assert (plugins.class_named(f"{module}.OwnConnector") is not None) is found
    finally:
        for name in imported():
            del sys.modules[name]


def test_a_package_that_does_not_exist(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    Plugins(packages=["no_such_package", "tests"])
    assert caplog.messages == ["Could not find package no_such_package of plugin.packages. Ignoring."]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a,/opt/plugins", "[a, /opt/plugins] for configuration plugin.packages: '/opt/plugins' is not the name of a "),
        ("a.__main__", "[a.__main__] for configuration plugin.packages: 'a.__main__' is not the name of a package"),
        ("a,,b", "[a, , b] for configuration plugin.packages: '' is not the name of a package"),
    ],
)
def test_names_that_no_package_has(value: str, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        StandaloneConfig.parse(PROPS | {"plugin.packages": value})
    assert str(raised.value).startswith(f"Invalid value {text}")
