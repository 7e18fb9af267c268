"""Plugins: where they are found, the names they go by, and what is wrong with those that cannot be used."""

import itertools
import logging
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from connect_dagster.connectors.file.source import FileStreamSourceConnector
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.isolation.declarations import installed
from connect_dagster.isolation.plugins import Kind, Plugins
from connect_dagster.worker.config.connector import ConnectorConfig
from connect_dagster.worker.transforms import TransformFactory

ROOT = Path(__file__).parents[3]
JAVA = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SOURCE = """
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.connector import SourceConnector, SourceTask

class Task(SourceTask):
    def start(self, config): ...
    def poll(self): ...
    def stop(self): ...

class {name}Connector(SourceConnector):
    config_def = ConfigDef
    task_class = Task
    version = "1.2"
    def start(self, config): ...
    def task_configs(self, max_tasks): return []
"""
WITHOUT_CONFIG = SOURCE.replace("    config_def = ConfigDef\n", "")
TRANSFORM = """
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.converter import Transform

class Mark(Transform):
    config_def = ConfigDef
    def configure(self, config): self.config = config
    def apply(self, frame): return frame
"""
WriteModule = Callable[..., str]
_numbers = itertools.count()


@pytest.fixture
def module(tmp_path: Path) -> WriteModule:
    """Writes a module or package of a name that no other test uses; answers the name."""

    def write(content: str, *, package: bool = False) -> str:
        name = f"plugin_of_a_test_{next(_numbers)}"
        file = tmp_path / name / "__init__.py" if package else tmp_path / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
        return name

    return write


@pytest.mark.parametrize("name", [JAVA, "FileStreamSourceConnector", "FileStreamSource"])
def test_bundled_plugins_by_class_and_aliases(name: str) -> None:
    found = Plugins().connector(name)
    assert (found.plugin, found.class_name, found.kind) == (FileStreamSourceConnector, JAVA, Kind.SOURCE)


@pytest.mark.parametrize("name", ["JsonConverter", "Json", "org.apache.kafka.connect.json.JsonConverter"])
def test_converters_by_class_and_aliases(name: str) -> None:
    assert Plugins().converter(name).class_name == "org.apache.kafka.connect.json.JsonConverter"


@pytest.mark.parametrize("package", [False, True])
def test_plugins_of_a_user(module: WriteModule, tmp_path: Path, package: bool) -> None:
    name = module(SOURCE.format(name="Own"), package=package)
    plugins = Plugins([str(tmp_path)])
    for alias in ("Own", "OwnConnector", f"{name}.OwnConnector"):
        found = plugins.connector(alias)
        assert (found.class_name, found.version) == (f"{name}.OwnConnector", "1.2")
        assert found.location.startswith(f"{tmp_path}/{name}")


def test_sinks_before_sources_before_the_rest() -> None:
    kinds = [one.kind for one in Plugins().all()]
    assert kinds == sorted(kinds, key=list(Kind).index)


def test_an_unknown_class() -> None:
    with pytest.raises(ConnectError) as raised:
        Plugins().connector("no.such.Connector")
    assert str(raised.value).startswith(
        "Failed to find any class that implements Connector and which name matches no.such.Connector, "
        "available connectors are: PluginDesc{klass=class connect_dagster.connectors.spark.sink.SparkSinkConnector, "
    )


def test_a_converter_is_no_connector() -> None:
    with pytest.raises(ConnectError, match="which name matches JsonConverter"):
        Plugins().connector("JsonConverter")


def test_an_alias_of_two(module: WriteModule, tmp_path: Path) -> None:
    names = [module(SOURCE.format(name="Twice")) for _ in range(2)]
    with pytest.raises(ConnectError) as raised:
        Plugins([str(tmp_path)]).connector("Twice")
    assert str(raised.value).startswith(
        "More than one connector matches alias Twice. Please use full package and class name instead. Classes found: "
    )
    assert all(f"{name}.TwiceConnector" in str(raised.value) for name in names)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("raise RuntimeError('not today')", "RuntimeError: not today"),
        ("class Half(", "SyntaxError: '(' was never closed"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
    ],
)
def test_a_module_that_does_not_import(
    module: WriteModule, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str, why: str
) -> None:
    name = module(f"from connect_dagster.plugin import connector\n{content}")
    plugins = Plugins([str(tmp_path)])
    assert any(
        message.startswith(f"Could not import plugin module {tmp_path}/{name}.py: {why}") for message in caplog.messages
    )
    with pytest.raises(ConnectError) as raised:
        plugins.connector(f"{name}.OwnConnector")
    assert str(raised.value).startswith(
        f"Failed to load connector {name}.OwnConnector: module {name} cannot be imported: {why}"
    )
    with pytest.raises(ConnectError, match=f"Module {name} on plugin.path cannot be imported"):
        plugins.connector("Own")
    assert plugins.connector("FileStreamSource").kind is Kind.SOURCE


@pytest.mark.parametrize(
    "content",
    ["raise RuntimeError('not to be run')", "class Half(", "# connect_dagster.plugin\nimport sys; sys.exit(3)"],
)
def test_what_does_not_use_the_plugin_api_is_not_run(
    module: WriteModule, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    module(content)
    module(content, package=True)
    assert len(Plugins([str(tmp_path)]).all()) == len(Plugins().all())
    assert caplog.messages == []


def test_a_package_whose_modules_use_the_plugin_api(module: WriteModule, tmp_path: Path) -> None:
    name = module("from .own import OwnConnector", package=True)
    (tmp_path / name / "own.py").write_text(SOURCE.format(name="Own"))
    assert Plugins([str(tmp_path)]).connector("Own").class_name == f"{name}.own.OwnConnector"


def test_a_module_with_the_name_of_another_one(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text(SOURCE.format(name="Own"))
    assert Plugins([str(tmp_path)]).connector("json.OwnConnector").location == f"{tmp_path}/json.py"
    assert sys.modules["json"].__file__ != f"{tmp_path}/json.py"


def test_a_folder_that_is_not_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    Plugins([str(tmp_path / "nowhere")])
    assert caplog.messages == [f"Could not get listing for plugin path: {tmp_path}/nowhere. Ignoring."]


def test_a_plugin_without_configuration_definition(module: WriteModule, tmp_path: Path) -> None:
    name = module(WITHOUT_CONFIG.format(name="Bare"))
    with pytest.raises(ConnectError, match=f"^Plugin {name}.BareConnector has no config_def"):
        Plugins([str(tmp_path)]).connector("Bare")


# Bundled plugins


def test_bundled_plugins_are_declared_under_a_name_that_they_have_anyway() -> None:
    declared = {(point.module, point.attribute): point for point in installed() if point.version is None}
    found = [one for one in Plugins().all(list(Kind)) if one.plugin.__module__.startswith("connect_dagster.")]
    assert {(one.plugin.__module__, one.plugin.__qualname__) for one in found} == set(declared)
    for one in found:
        assert replace(one, declared_as=None).aliases == one.aliases
    assert len({point.alias for point in declared.values()}) == len(declared)


def test_the_entry_points_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = project["entry-points"]["connect_dagster.plugins"]
    assert {
        point.alias: f"{point.module}:{point.attribute}" for point in installed() if point.version is None
    } == declared


@pytest.mark.parametrize("checkout", [True, False])
def test_bundled_plugins_without_the_metadata_of_an_installation(tmp_path: Path, checkout: bool) -> None:
    code = f"""
import importlib.metadata, sys
from pathlib import Path
distributions = importlib.metadata.MetadataPathFinder.find_distributions
def without(self, context=importlib.metadata.DistributionFinder.Context()):
    return [one for one in distributions(context) if one.name != "connect-dagster"]
importlib.metadata.MetadataPathFinder.find_distributions = classmethod(without)
importlib.machinery.PathFinder.find_distributions = classmethod(without)
from connect_dagster.errors import ConnectError
from connect_dagster.isolation import declarations
from connect_dagster.isolation.plugins import Plugins
if not {checkout}:
    declarations._ROOT = Path({str(tmp_path)!r})
try:
    print(len(Plugins().all()))
except ConnectError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = str(len(Plugins().all())) if checkout else "The distribution connect-dagster has no entry points in"
    assert done.stdout.startswith(expected)


# Chains of transforms

NAMED = {"name": "c", "connector.class": "C"}


def test_a_chain_in_its_order_with_its_options(module: WriteModule, tmp_path: Path) -> None:
    name = module(TRANSFORM)
    config = {
        "transforms": "b, a",
        "transforms.a.type": "Mark",
        "transforms.a.x": "1",
        "transforms.b.type": f"{name}.Mark",
        "transforms.b.y": "2",
        "transforms.c.type": "ignored",
    }
    chain = TransformFactory(Plugins([str(tmp_path)])).chain("c-0", ConnectorConfig.parse(NAMED | config))
    assert [(one.alias, vars(one.transform)["config"]) for one in chain] == [("b", {"y": "2"}), ("a", {"x": "1"})]


@pytest.mark.parametrize("config", [{}, {"transforms": ""}])
def test_no_transforms(config: dict[str, str]) -> None:
    assert TransformFactory(Plugins()).chain("c-0", ConnectorConfig.parse(NAMED | config)) == ()


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"transforms": "a"}, 'Missing required configuration "transforms.a.type" which has no default value.'),
        ({"transforms": "a", "transforms.a.type": "No"}, "Failed to find any class that implements Transformation"),
        (
            {"transforms": "a", "transforms.a.type": "x", "transforms.a.predicate": "p"},
            'Missing required configuration "predicates.p.type" which has no default value.',
        ),
    ],
)
def test_chains_that_cannot_be(config: dict[str, str], text: str) -> None:
    with pytest.raises((ConfigError, ConnectError)) as raised:
        TransformFactory(Plugins()).chain("c-0", ConnectorConfig.parse(NAMED | config))
    assert str(raised.value).startswith(text)
