"""What is found on ``plugin.path``, and what is not run there."""

import logging
import time
import zipfile
from pathlib import Path

import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.isolation.plugins import Kind, Plugins
from tests.plugin_packages import SOURCE, distribution, write_files, write_jar, write_wheel

S3 = "io.confluent.connect.s3.source.S3SourceConnector"
SERVICE = "org.apache.kafka.connect.source.SourceConnector"
EVIL = "from connect_dagster.plugin import connector\nimport pathlib\npathlib.Path({marker!r}).touch()\n"
HALF = "from connect_dagster.plugin.connector import SourceConnector as S\nclass Task: ...\nclass Half(S): ...\n"
PROJECT = """
[project]
name = "clicks"
version = "3.1"

[project.entry-points."connect_dagster.plugins"]
Clicks = "clicks:ClicksConnector"
"""


def names(plugins: Plugins) -> list[str]:
    """Sources that do not ship."""
    return [one.class_name for one in plugins.all((Kind.SOURCE,)) if one.location != "classpath"]


def test_s4_08_a_wheel_and_a_folder_that_is_missing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    wheel = write_wheel(
        tmp_path, "clicks", "2.5", {"clicks.py": SOURCE.format(name="Clicks")}, {"web-clicks": "clicks:ClicksConnector"}
    )
    plugins = Plugins(["/mnt/d/share/kafka/plugins", f" {tmp_path} ", ""])
    assert caplog.messages == ["Could not get listing for plugin path: /mnt/d/share/kafka/plugins. Ignoring."]
    for alias in ("clicks.ClicksConnector", "ClicksConnector", "Clicks", "web-clicks"):
        found = plugins.connector(alias)
        assert (found.class_name, found.version, found.location) == ("clicks.ClicksConnector", "2.5", str(wheel))
    assert found.plugin.version == "2.5"


@pytest.mark.parametrize("subfolder", ["", "clicks-home"])
def test_distributions_installed_into_a_folder(tmp_path: Path, subfolder: str) -> None:
    code = {
        "clicks/__init__.py": "from clicks.source import ClicksConnector",
        "clicks/source.py": SOURCE.format(name="Clicks"),
    }
    home = write_files(tmp_path / subfolder, distribution("clicks", "1", code, {"Clicks": "clicks:ClicksConnector"}))
    plugins = Plugins([str(tmp_path)])
    assert names(plugins) == ["clicks.source.ClicksConnector"]
    assert plugins.connector("Clicks").location == str(home)


@pytest.mark.parametrize("layout", ["", "src/"])
def test_a_project(tmp_path: Path, layout: str) -> None:
    write_files(tmp_path / "project", {"pyproject.toml": PROJECT, f"{layout}clicks.py": SOURCE.format(name="Clicks")})
    assert Plugins([str(tmp_path)]).connector("Clicks").version == "3.1"
    assert names(Plugins([str(tmp_path / "project")])) == ["clicks.ClicksConnector"]


def test_the_wheels_of_a_subfolder_are_one_place(tmp_path: Path) -> None:
    source = f"import depot\n{SOURCE.format(name='Clicks')}    kept_in = depot.PLACE\n"
    write_wheel(tmp_path / "clicks", "clicks", "1", {"clicks.py": source}, {"Clicks": "clicks:ClicksConnector"})
    write_wheel(tmp_path / "clicks", "depot", "1", {"depot.py": "PLACE = 'beside'"}, {})
    found = Plugins([str(tmp_path)]).connector("Clicks")
    assert (found.location, vars(found.plugin)["kept_in"]) == (str(tmp_path / "clicks"), "beside")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("clicks:Nothing", "AttributeError: module 'clicks' has no attribute 'Nothing'"),
        ("clicks:Task", "TypeError: it is not a class of a plugin"),
        ("clicks:Half", "TypeError: it lacks task_class"),
        ("clicks.away:X", "ModuleNotFoundError: No module named 'clicks.away'; 'clicks' is not a package"),
    ],
)
def test_an_entry_point_that_does_not_load(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, value: str, why: str
) -> None:
    write_wheel(tmp_path, "clicks", "1", {"clicks.py": HALF}, {"Clicks": value})
    plugins = Plugins([str(tmp_path)])
    module, _, attribute = value.partition(":")
    wheel = tmp_path / "clicks-1-py3-none-any.whl"
    assert caplog.messages == [f"Could not load plugin 'Clicks' ({module}:{attribute}) from {wheel}: {why}"]
    with pytest.raises(ConnectError, match=f"module {module} cannot be imported"):
        plugins.connector(f"{module}.{attribute}")


def test_a_wheel_that_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "broken-1-py3-none-any.whl").write_text("half a download")
    assert names(Plugins([str(tmp_path)])) == []
    assert caplog.messages == [
        f"Could not read {tmp_path}/broken-1-py3-none-any.whl on the plugin path: it is not a wheel: not a zip file"
    ]


def test_s4_10_a_folder_like_tmp(tmp_path: Path) -> None:
    marker, like_tmp, empty = tmp_path / "marker", tmp_path / "tmp", tmp_path / "empty"
    empty.mkdir()
    write_files(like_tmp, {"a/evil.py": EVIL.format(marker=str(marker))})
    for number in range(50_000):
        (like_tmp / f"file-{number}{('.log', '.txt', '', '.csv', '.py')[number % 5]}").touch()
    began = time.thread_time()  # whatever else the machine does
    Plugins([str(empty)])
    between = time.thread_time()
    Plugins([f"{like_tmp}/"])
    assert time.thread_time() - between < (between - began) + 2
    assert not marker.exists()


def test_only_so_many_files_that_declare_nothing_are_looked_at(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_files(tmp_path, {f"a{number}.py": "" for number in range(2001)})
    write_files(tmp_path, {"zebra.py": SOURCE.format(name="Zebra")})
    write_wheel(
        tmp_path, "clicks", "1", {"clicks.py": SOURCE.format(name="Clicks")}, {"Clicks": "clicks:ClicksConnector"}
    )
    assert names(Plugins([str(tmp_path)])) == ["clicks.ClicksConnector"]
    assert caplog.messages[0].startswith(f"{tmp_path} holds more than 2000 Python files: from a999.py on")


def test_s4_09_jars_and_zips_are_named_and_not_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = write_jar(tmp_path / "connect-file-4.3.1.jar", "org.apache.kafka.connect.file.FileStreamSinkConnector")
    s3 = write_jar(tmp_path / "s3" / "lib" / "s3.jar", S3, services={SERVICE: f"# one\n{S3}\n"})
    debezium = write_jar(tmp_path / "debezium" / "core.jar", "io.debezium.MySqlConnector", "io.debezium.BaseConnector")
    write_jar(tmp_path / "s3" / "lib" / "guava.jar", "com.google.common.base.Joiner")
    with zipfile.ZipFile(tmp_path / "hub.zip", "w") as hub:
        hub.write(write_jar(tmp_path / "elsewhere" / "deeper" / "s3.jar", "io.s3.S3SinkConnector"), "hub/lib/s3.jar")
    (tmp_path / "half.jar").write_text("half a download")
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as photos:
        photos.writestr("sea.jpg", "")
    plugins = Plugins([str(tmp_path)])
    assert names(plugins) == []
    assert {(one.path, one.classes) for one in plugins.java} == {
        (file, ("org.apache.kafka.connect.file.FileStreamSinkConnector",)),
        (s3, (S3,)),
        (debezium, ("io.debezium.MySqlConnector",)),
        (tmp_path / "hub.zip", ("io.s3.S3SinkConnector",)),
        (tmp_path / "half.jar", ()),
    }
    assert f"{s3} holds Java plugins, which cannot run in this worker: {S3}" in caplog.messages
    assert (
        f"{tmp_path}/hub.zip is an archive of Java plugins, which cannot run in this worker: io.s3.S3SinkConnector. "
        "A Java worker would want it extracted"
    ) in caplog.messages
    assert all(record.levelno == logging.WARNING for record in caplog.records)


@pytest.mark.parametrize("name", [S3, "S3SourceConnector", "S3Source"])
def test_s4_09_a_class_that_only_a_jar_has(tmp_path: Path, name: str) -> None:
    jar = write_jar(tmp_path / "s3.jar", S3)
    with pytest.raises(ConnectError) as raised:
        Plugins([str(tmp_path)]).connector(name)
    assert str(raised.value).startswith(
        f"Failed to find any class that implements Connector and which name matches {name}, there is only a Java "
        f"plugin of that name, in {jar}, and Java plugins cannot run in this worker. Available connectors are: "
    )


def test_s4_09_a_known_class_runs_in_python_even_so(tmp_path: Path) -> None:
    name = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    write_jar(tmp_path / "connect-file.jar", name)
    assert Plugins([str(tmp_path)]).connector(name).location == "classpath"


def test_s4_11_what_was_added_later_is_not_seen(tmp_path: Path) -> None:
    before = Plugins([str(tmp_path)])
    write_wheel(
        tmp_path / "new",
        "clicks",
        "1",
        {"clicks.py": SOURCE.format(name="Clicks")},
        {"Clicks": "clicks:ClicksConnector"},
    )
    with pytest.raises(ConnectError, match=r"^Failed to find any class that implements Connector and which name"):
        before.connector("Clicks")
    assert Plugins([str(tmp_path)]).connector("Clicks").version == "1"


@pytest.mark.parametrize(
    ("asked", "version"),
    [(None, "1.10"), ("latest", "1.10"), ("1.9", "1.9"), ("[1.0,1.10)", "1.9"), ("[2,3)", "1.10")],
)
def test_several_versions_of_a_class(tmp_path: Path, asked: str | None, version: str) -> None:
    for number in ("1.9", "1.10", "1.2"):
        code = {"clicks.py": SOURCE.format(name="Clicks")}
        write_wheel(tmp_path / number, "clicks", number, code, {"Clicks": "clicks:ClicksConnector"})
    plugins = Plugins([str(tmp_path)])
    listed = [one.version for one in plugins.all((Kind.SOURCE,)) if one.class_name == "clicks.ClicksConnector"]
    assert sorted(listed) == ["1.10", "1.2", "1.9"]
    for name in ("clicks.ClicksConnector", "Clicks"):
        found = plugins.connector(name, asked)
        assert (found.version, found.location) == (version, str(tmp_path / version))
    assert plugins.class_named("Clicks", asked) is found.plugin
