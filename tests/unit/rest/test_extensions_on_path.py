"""Extensions of the REST API on ``plugin.path``: found as other plugins are, by the names that these have."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.isolation.plugins import LISTED, Kind, Plugins
from connect_dagster.rest.server import RestServer
from connect_dagster.rest.settings import RestSettings
from tests.plugin_packages import SOURCE, distribution, write_files
from tests.rest_calls import call
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import worker_config

EXTENSION = """
from starlette.responses import PlainTextResponse

from connect_dagster.plugin import RestExtension


class OpeningHoursRestExtension(RestExtension):
    def configure(self, config):
        self.says = config["opening.hours"]

    def register(self, app, cluster_state):
        return PlainTextResponse(self.says, 403)
"""
UNFINISHED = """
from connect_dagster.plugin import RestExtension


class Unfinished(RestExtension):
    pass
"""
BROKEN = "import connect_dagster.plugin\nraise RuntimeError('no licence')\n"
CLASS = "OpeningHoursRestExtension"
_numbers = itertools.count()


@pytest.fixture
def module() -> str:
    """A name that no other module has had."""
    return f"extension_of_a_test_{next(_numbers)}"


def loose(folder: Path, module: str) -> None:
    write_files(folder, {f"{module}.py": EXTENSION})


def installed(folder: Path, module: str) -> None:
    points = {"hours": f"{module}:{CLASS}"}
    files = distribution("hours", "1.2", {f"{module}.py": EXTENSION}, points, "connect_dagster.rest_extensions")
    write_files(folder / "hours", files)


def project(folder: Path, module: str) -> None:
    declared = f'[project.entry-points."connect_dagster.rest_extensions"]\nhours = "{module}:{CLASS}"\n'
    text = f'[project]\nname = "hours"\nversion = "1.2"\n{declared}'
    write_files(folder / "hours", {f"{module}.py": EXTENSION, "pyproject.toml": text})


def server_of(folder: Path, name: str) -> RestServer:
    props = {"plugin.path": str(folder), "rest.extension.classes": name, "opening.hours": "closed"}
    config = worker_config(**props)
    return RestServer(RestSettings.of(config, Plugins.of(config.originals)))


@pytest.mark.parametrize(
    ("write", "names"),
    [
        (loose, ("{module}." + CLASS, CLASS, "OpeningHours")),
        (installed, ("hours", "{module}." + CLASS, CLASS)),
        (project, ("hours", "OpeningHours")),
    ],
)
def test_an_extension_on_the_path_is_called_before_the_routes(
    herder: MemoryHerder, tmp_path: Path, module: str, write: Callable[[Path, str], None], names: tuple[str, ...]
) -> None:
    write(tmp_path, module)
    for name in names:
        server = server_of(tmp_path, name.format(module=module))
        try:
            server.start(herder)
            answer = call(server.advertised_url, "GET", "/connectors")
        finally:
            server.stop(1)
        assert (answer.status, answer.body) == (403, b"closed")


def test_it_is_no_plugin_of_connectors(tmp_path: Path, module: str) -> None:
    """Listed by the command that lists plugins, but not where clients choose among those of connectors."""
    installed(tmp_path, module)
    plugins = Plugins([str(tmp_path)])
    (found,) = plugins.all([Kind.REST_EXTENSION])
    assert (found.class_name, found.version, found.declared_as) == (f"{module}.{CLASS}", "1.2", "hours")
    assert found.kind.value == "rest_extension"
    assert Kind.REST_EXTENSION not in LISTED


@pytest.mark.parametrize(
    ("text", "name", "error", "says"),
    [
        (SOURCE.format(name="Tick"), "{module}.TickConnector", ConfigError, "TickConnector is not a subclass of Rest"),
        (SOURCE.format(name="Tick"), "Tick", ConfigError, "The REST extension Tick is not a subclass of RestExtension"),
        (UNFINISHED, "{module}.Unfinished", ConfigError, "Unfinished lacks register"),
        (BROKEN, "{module}.Any", ConnectError, "{module}.Any cannot be loaded: RuntimeError: no licence"),
        (
            EXTENSION,
            "json.JSONDecoder",
            ConnectError,
            "cannot be loaded: module json is not imported, as it is",
        ),
        (EXTENSION, "Other", ConnectError, "name matches Other, available extensions are: org.apache.kafka.connect."),
        (EXTENSION, "Other", ConnectError, ", RoleRestExtension, {module}." + CLASS),
    ],
)
def test_a_name_without_an_extension_is_one_error(
    tmp_path: Path, module: str, text: str, name: str, error: type[Exception], says: str
) -> None:
    write_files(tmp_path, {f"{module}.py": text})
    with pytest.raises(error) as caught:
        server_of(tmp_path, name.format(module=module))
    assert says.format(module=module) in str(caught.value)
