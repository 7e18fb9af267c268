"""Placeholders: what is put in their place, what stays, what task configurations are stored with, and who provides."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.config_providers.file import FileConfigProvider
from connect_dagster.errors import ConfigError
from connect_dagster.isolation.config_transformer import ConfigTransformer, placeholders, reverse_transformed
from connect_dagster.isolation.plugins import LISTED, Kind, Plugins
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.config_provider import ConfigData, ConfigProvider
from connect_dagster.worker.config.worker import StandaloneConfig

FILE = "org.apache.kafka.common.config.provider.FileConfigProvider"


class Table(ConfigProvider):
    """Knows what its table says, and remembers who asked."""

    config_def: ClassVar[type[ConfigDef]] = ConfigDef

    def __init__(self, values: Mapping[str, Mapping[str, str]], ttls: Mapping[str, int] | None = None) -> None:
        self.values = values
        self.ttls = ttls or {}
        self.asked: list[tuple[str, AbstractSet[str]]] = []
        self.closed = False

    def configure(self, config: Mapping[str, str]) -> None:
        raise AssertionError("made by hand")

    def get(self, path: str, keys: AbstractSet[str]) -> ConfigData:
        self.asked.append((path, keys))
        known = self.values.get(path, {})
        return ConfigData({key: known[key] for key in keys if key in known}, self.ttls.get(path))

    def close(self) -> None:
        self.closed = True


class Failing(Table):
    def __init__(self, error: Exception) -> None:
        super().__init__({})
        self.error = error

    def get(self, path: str, keys: AbstractSet[str]) -> ConfigData:
        raise self.error

    def close(self) -> None:
        raise self.error


class Picky(Table):
    """Refuses its options."""

    def __init__(self) -> None:
        super().__init__({})

    def configure(self, config: Mapping[str, str]) -> None:
        raise ValueError(f"no {sorted(config)}")


TABLE = {
    "": {"user": "u", "password": "p", "empty": "", "a:b": "colon"},
    "/s": {"password": "of a path", "again": "${t:password}", "back": r"\1 \g<0> $0"},
}


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("${t:password}", "p"),
        ("${t:/s:password}", "of a path"),
        ("${t::password}", "p"),
        ("jdbc://${t:user}:${t:/s:password}@db/${t:user}", "jdbc://u:of a path@db/u"),
        ("a${t:empty}b", "ab"),
        ("${t:/s:back}", r"\1 \g<0> $0"),
        # Values are put in once.
        ("${t:/s:again}", "${t:password}"),
        # The path ends at the second colon, the key goes on.
        ("${t::a:b}", "colon"),
        # What nobody knows stays.
        ("${t:missing}", "${t:missing}"),
        ("${t:/x:password}", "${t:/x:password}"),
        ("${other:password}", "${other:password}"),
        ("${other:x} ${t:user}", "${other:x} u"),
        ("${password}", "${password}"),
        ("${t:pass", "${t:pass"),
        ("{t:user} $t:user", "{t:user} $t:user"),
        ("", ""),
        # The first brace that opens counts.
        ("${${t:user}}", "${${t:user}}"),
    ],
)
def test_placeholders(written: str, told: str) -> None:
    assert ConfigTransformer({"t": Table(TABLE)}).transform({"k": written}).config == {"k": told}


JAVA_PLACEHOLDER = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")


@given(st.text("${}:a\n", max_size=16) | st.lists(st.text() | st.sampled_from(["${", ":", "}", "${a:b}"])).map("".join))
def test_placeholders_are_those_of_javas_expression(text: str) -> None:
    expected = [
        (found.start(), found[0], found[1], found[3] or "", found[4]) for found in JAVA_PLACEHOLDER.finditer(text)
    ]
    assert [(one.start, one.text, one.provider, one.path, one.key) for one in placeholders(text)] == expected


@pytest.mark.parametrize("text", ["${" + ":" * 1_000_000, "${" * 500_000, "${:" * 300_000 + "}", "${a:b}" * 100_000])
def test_long_texts_take_no_long_time(text: str) -> None:
    """R8: at ce718d3 two thousand colons took half a minute, a million of them years."""
    began = time.process_time()
    ConfigTransformer({}).transform({"k": text})
    assert reverse_transformed({"k": text}, [{}]) == [{}]
    assert time.process_time() - began < 10


def test_a_provider_is_asked_once_for_each_path() -> None:
    table = Table(TABLE)
    config = {"a": "${t:user}", "b": "${t:password}${t:/s:password}", "${t:user}": "in a key nothing is replaced"}
    told = ConfigTransformer({"t": table}).transform(config).config
    assert told == {"a": "u", "b": "pof a path", "${t:user}": "in a key nothing is replaced"}
    assert table.asked == [("", {"user", "password"}), ("/s", {"password"})]


def test_nulls_stay() -> None:
    config: dict[str, str | None] = {"a": None, "b": "${t:user}"}
    assert ConfigTransformer({"t": Table(TABLE)}).transform(config).config == {"a": None, "b": "u"}


def test_what_a_provider_does_not_know_is_told(caplog: pytest.LogCaptureFixture) -> None:
    ConfigTransformer({"t": Table(TABLE)}).transform({"db.password": "${t:/s:missing}", "x": "${other:y}"})
    assert caplog.messages == [
        "Config provider 't' has no value for ${t:/s:missing} in db.password, which stays as it is"
    ]


@pytest.mark.parametrize(
    ("ttls", "first"), [({}, None), ({"": 500}, 500), ({"": 500, "/s": 20}, 20), ({"/s": 0}, 0), ({"": -1}, None)]
)
def test_the_first_expiry_counts(ttls: dict[str, int], first: int | None) -> None:
    transformer = ConfigTransformer({"t": Table(TABLE, ttls)})
    assert transformer.transform({"a": "${t:user}", "b": "${t:/s:password}"}).ttl_ms == first
    assert transformer.transform({"a": "nothing to look up"}).ttl_ms is None


@pytest.mark.parametrize(
    ("error", "text"),
    [(ConfigError("Could not read x"), "Could not read x"), (TimeoutError("vault"), "TimeoutError: vault")],
)
def test_a_provider_that_fails(error: Exception, text: str) -> None:
    transformer = ConfigTransformer({"f": Failing(error), "t": Table(TABLE)})
    with pytest.raises(ConfigError) as raised:
        transformer.transform({"a": "${t:user}", "db.password": "${f:/s:p}", "db.user": "x${f:/s:u}"})
    assert str(raised.value) == f"{text}, for ${{f:/s:p}} in db.password, ${{f:/s:u}} in db.user"
    assert transformer.transform({"a": "${t:user}"}).config == {"a": "u"}


def test_a_value_that_is_no_text() -> None:
    wrong: Mapping[str, Mapping[str, str]] = {"": {"port": 5432}}  # type: ignore[dict-item]
    with pytest.raises(ConfigError) as raised:
        ConfigTransformer({"t": Table(wrong)}).transform({"db.port": "${t:port}"})
    assert str(raised.value) == "Config provider 't' gave a value of type int instead of str for ${t:port} in db.port"


def test_all_providers_are_closed(caplog: pytest.LogCaptureFixture) -> None:
    table = Table({})
    ConfigTransformer({"f": Failing(OSError("gone")), "t": table}).close()
    assert table.closed
    assert caplog.messages == ["Failed to close config provider f"]


def test_several_threads_at_once() -> None:
    transformer = ConfigTransformer({"t": Table(TABLE)})
    told: list[dict[str, str]] = []
    threads = [
        threading.Thread(target=lambda: told.append(transformer.transform({"a": "${t:user}"}).config)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [{"a": "u"}] * 8


# What is stored


def test_values_that_a_connector_passed_on_are_placeholders_again() -> None:
    connector = {"name": "c", "password": "${t:password}", "url": "x/${t:user}", "unused": "${t:user}", "topic": "t"}
    made = [
        {"password": "p", "url": "x/u", "topic": "t", "task": "0"},
        # Even where a connector made something else of it, as with Java.
        {"password": "decoded", "other": "${t:user}"},
    ]
    assert reverse_transformed(connector, made) == [
        {"password": "${t:password}", "url": "x/${t:user}", "topic": "t", "task": "0"},
        {"password": "${t:password}", "other": "${t:user}"},
    ]
    assert made[0]["password"] == "p"


# Providers of a worker


def worker(**more: str) -> dict[str, str]:
    return {"config.providers": "f", "config.providers.f.class": FILE} | {
        name.replace("_", "."): value for name, value in more.items()
    }


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    file = tmp_path / "secrets.properties"
    file.write_text(f"password=p\nbootstrap=b:9\nallowed={tmp_path}\n")
    return file


@pytest.mark.parametrize("name", [FILE, "FileConfigProvider", "File"])
def test_providers_by_class_and_aliases(secrets: Path, name: str) -> None:
    transformer = ConfigTransformer.of(worker(config_providers_f_class=name), Plugins())
    assert transformer.transform({"a": f"${{f:{secrets}:password}}"}).config == {"a": "p"}


def test_each_provider_has_its_own_options(secrets: Path) -> None:
    props = worker(config_providers="f, g", config_providers_g_class=FILE)
    props |= {"config.providers.g.param.allowed.paths": "/usr"}
    transformer = ConfigTransformer.of(props, Plugins())
    written = {"a": f"${{f:{secrets}:password}}", "b": f"${{g:{secrets}:password}}"}
    assert transformer.transform(written).config == {"a": "p", "b": written["b"]}


def test_providers_are_plugins_that_are_not_listed() -> None:
    plugins = Plugins()
    assert plugins.config_provider("File").plugin is FileConfigProvider
    assert {one.class_name.rpartition(".")[2] for one in plugins.all([Kind.CONFIG_PROVIDER])} == {
        "DirectoryConfigProvider",
        "EnvVarConfigProvider",
        "FileConfigProvider",
    }
    assert {one.kind for one in plugins.all()} <= set(LISTED)


def test_a_provider_without_a_class_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    transformer = ConfigTransformer.of({"config.providers": "vault"}, Plugins())
    assert transformer.transform({"a": "${vault:x}"}).config == {"a": "${vault:x}"}
    assert caplog.messages == [
        "Config provider 'vault' has no config.providers.vault.class: ${vault:...} stays as it is"
    ]


@pytest.mark.parametrize(
    ("props", "text"),
    [
        (
            worker(config_providers_f_class="no.Such"),
            "Invalid value no.Such for configuration config.providers.f.class: Could not load config provider class or "
            "one of its dependencies: Failed to find any class that implements ConfigProvider and which name matches ",
        ),
        (
            worker(config_providers_f_class="FileStreamSource"),
            "Invalid value FileStreamSource for configuration config.providers.f.class: Could not load config provider",
        ),
        (
            worker(config_providers_f_class=f"{__name__}.Failing"),
            f"Invalid value {__name__}.Failing for configuration config.providers.f.class: Could not load config "
            "provider class or one of its dependencies: TypeError: ",
        ),
        (
            worker(config_providers_f_class=f"{__name__}.Picky", config_providers_f_param_token="t0k3n"),
            "Config provider 'f' refuses config.providers.f.param.*: ValueError: no ['token']",
        ),
        (
            worker(config_providers_f_param_allowed_paths="/no/such"),
            "Config provider 'f' refuses config.providers.f.param.*: Invalid value [/no/such] for configuration "
            "allowed.paths: Path /no/such does not exist",
        ),
    ],
)
def test_providers_that_cannot_be(props: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        ConfigTransformer.of(props, Plugins(packages=[__name__]))
    assert str(raised.value).startswith(text)


# A worker's own properties


def test_a_worker_reads_its_own_properties_through_its_providers(
    secrets: Path, caplog: pytest.LogCaptureFixture
) -> None:
    converter = "org.apache.kafka.connect.json.JsonConverter"
    written = worker(key_converter=converter, value_converter=converter, offset_storage_file_filename="/o") | {
        "bootstrap.servers": f"${{f:{secrets}:bootstrap}}",
        "sasl.jaas.config": f"password='${{f:{secrets}:password}}'",
        "config.providers.f.param.allowed.paths": "/",
    }
    config = StandaloneConfig.parse(ConfigTransformer.of(written, Plugins()).transform(written).config)
    assert (config.bootstrap_servers, config.config_providers) == ("b:9", ("f",))
    assert config.client_settings["sasl.jaas.config"] == "password='p'"
    assert caplog.messages == []


def test_options_of_a_provider_may_be_placeholders_of_one_before_it(secrets: Path, tmp_path: Path) -> None:
    (tmp_path.parent / "other.properties").write_text("password=p\n")
    props = worker(config_providers="f,g", config_providers_g_class="File")
    props |= {"config.providers.g.param.allowed.paths": f"${{f:{secrets}:allowed}}"}
    transformer = ConfigTransformer.of(props, Plugins())
    outside = f"${{g:{tmp_path.parent}/other.properties:password}}"
    assert transformer.transform({"a": f"${{g:{secrets}:password}}", "b": outside}).config == {"a": "p", "b": outside}
