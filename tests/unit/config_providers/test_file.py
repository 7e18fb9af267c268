"""FileConfigProvider: which files it reads, and what it says of those that it cannot read."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from connect_dagster.config_providers.file import FileConfigProvider
from connect_dagster.errors import ConfigError

SECRET = "s3cr3t"


def provider(**options: str) -> FileConfigProvider:
    made = FileConfigProvider()
    made.configure({name.replace("_", "."): value for name, value in options.items()})
    return made


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    file = tmp_path / "in" / "secrets.properties"
    file.parent.mkdir()
    file.write_text(f"password={SECRET}\nname = 서울\n# user=nobody\nempty=\n", encoding="utf-8")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secrets.properties").write_text("password=other\n")
    return file


def test_values_of_the_keys_that_are_there(secrets: Path) -> None:
    found = provider().get(str(secrets), {"password", "name", "empty", "user"})
    assert found.values == {"password": SECRET, "name": "서울", "empty": ""}
    assert found.ttl_ms is None


def test_a_changed_file_is_read_anew(secrets: Path) -> None:
    reader = provider()
    assert reader.get(str(secrets), {"password"}).values == {"password": SECRET}
    secrets.write_text("password=new\n")
    assert reader.get(str(secrets), {"password"}).values == {"password": "new"}


def test_without_a_path_there_is_nothing() -> None:
    assert provider().get("", {"password"}).values == {}


@pytest.fixture
def unreadable(tmp_path: Path) -> dict[str, Path]:
    files = {name: tmp_path / name for name in ("missing", "folder", "latin", "escape")}
    files["folder"].mkdir()
    files["latin"].write_bytes(f"password={SECRET}\xff".encode("latin-1"))
    files["escape"].write_text(f"password={SECRET}\\users\n")
    return files


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("missing", "No such file or directory"),
        ("folder", "Is a directory"),
        ("latin", "it is not UTF-8"),
        ("escape", r"it has a malformed \uxxxx escape; a backslash is written \\"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_without_its_content(
    unreadable: dict[str, Path], name: str, why: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        provider().get(str(unreadable[name]), {"password"})
    assert str(raised.value) == f"Could not read properties from file {unreadable[name]}: {why}"
    assert raised.value.__cause__ is None or isinstance(raised.value.__cause__, OSError)


@pytest.mark.parametrize(
    "allowed", ["{0}/in", "{0}/in/", "{0}/in/secrets.properties", "/usr,{0}/out/../in", "{0}", "/"]
)
def test_paths_within_allowed_paths(secrets: Path, tmp_path: Path, allowed: str) -> None:
    reader = provider(allowed_paths=allowed.format(tmp_path))
    for path in (secrets, f"{tmp_path}/out/../in/secrets.properties", f"//{secrets}"):
        assert reader.get(str(path), {"password"}).values == {"password": SECRET}


@pytest.mark.parametrize(
    "path", ["{0}/out/secrets.properties", "{0}/in/../out/secrets.properties", "secrets.properties"]
)
def test_paths_outside_of_allowed_paths_have_no_values(
    secrets: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(secrets.parent)
    asked = path.format(tmp_path)
    assert provider(allowed_paths=str(secrets.parent)).get(asked, {"password"}).values == {}
    assert caplog.record_tuples == [
        (
            "connect_dagster.config_providers.file",
            logging.WARNING,
            f"The path {asked} is not allowed to be accessed: it is not within allowed.paths",
        )
    ]


def test_a_name_that_begins_alike_is_not_within(secrets: Path, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "secrets.properties").write_text("password=other\n")
    reader = provider(allowed_paths=str(secrets.parent))
    assert reader.get(f"{tmp_path}/inside/secrets.properties", {"password"}).values == {}


@pytest.mark.parametrize(
    ("allowed", "why"),
    [("in", "Path in is not absolute"), ("/usr, /no/such", "Path /no/such does not exist")],
)
def test_allowed_paths_that_are_none(allowed: str, why: str) -> None:
    with pytest.raises(ConfigError, match=rf"for configuration allowed\.paths: {why}$"):
        provider(allowed_paths=allowed)
