"""DirectoryConfigProvider: each file of a folder is a value, and nothing beyond the folder is."""

from __future__ import annotations

from pathlib import Path

import pytest

from connect_dagster.config_providers.directory import DirectoryConfigProvider
from connect_dagster.errors import ConfigError


def provider(**options: str) -> DirectoryConfigProvider:
    made = DirectoryConfigProvider()
    made.configure({name.replace("_", "."): value for name, value in options.items()})
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "secrets"
    (made / "below").mkdir(parents=True)
    (made / "password").write_text("s3cr3t\n")
    (made / "below" / "user").write_text("u")
    (tmp_path / "outside").write_text("o")
    # As Kubernetes mounts a secret.
    (made / "..data").mkdir()
    (made / "..data" / "token").write_text("t")
    (made / "token").symlink_to("..data/token")
    return made


def test_whole_files_are_values(folder: Path) -> None:
    found = provider().get(str(folder), {"password", "token", "missing"})
    assert found.values == {"password": "s3cr3t\n", "token": "t"}


@pytest.mark.parametrize("key", ["below", "below/user", "../outside", "..", ".", "", "/etc/hostname", "a\0b"])
def test_only_files_of_the_folder_itself(folder: Path, key: str) -> None:
    assert provider().get(str(folder), {key}).values == {}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", []),
        ("{0}/missing", ["The path {0}/missing is not a directory"]),
        ("{0}/password", ["The path {0}/password is not a directory"]),
    ],
)
def test_a_path_that_is_no_folder(folder: Path, caplog: pytest.LogCaptureFixture, path: str, said: list[str]) -> None:
    assert provider().get(path.format(folder), {"password"}).values == {}
    assert caplog.messages == [one.format(folder) for one in said]


def test_a_folder_outside_of_allowed_paths(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    reader = provider(allowed_paths=str(folder / "below"))
    assert reader.get(str(folder), {"password"}).values == {}
    assert caplog.messages == [f"The path {folder} is not allowed to be accessed: it is not within allowed.paths"]
    assert reader.get(str(folder / "below"), {"user"}).values == {"user": "u"}


def test_a_file_that_is_no_text_is_named_without_its_content(folder: Path) -> None:
    (folder / "password").write_bytes(b"s3cr3t\xff")
    with pytest.raises(ConfigError) as raised:
        provider().get(str(folder), {"password"})
    assert str(raised.value) == f"Could not read file {folder}/password for property password: it is not UTF-8"
    assert raised.value.__cause__ is None
