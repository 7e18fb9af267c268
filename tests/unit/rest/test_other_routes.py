"""Offsets, plugins, loggers."""

import pytest

from connect_dagster.herder.interface import ConnectorOffset, LoggerLevel
from tests.unit.rest.asking import Asking
from tests.unit.rest.memory_herder import MemoryHerder

NOT_CHOSEN = "Included connector type FileStreamSink does not match request type {}"


def test_offsets_are_written_and_told(herder: MemoryHerder, ask: Asking) -> None:
    body = b'{"offsets":[{"partition":{"filename":"/x"},"offset":{"position":7,"f":1.5}},{"partition":null}]}'
    assert ask("PATCH", "/connectors/c/offsets", body).body == b'{"message":"altered"}'
    assert herder.offsets["c"] == [
        ConnectorOffset({"filename": "/x"}, {"position": 7, "f": 1.5}),
        ConnectorOffset(None, None),
    ]
    first = b'{"partition":{"filename":"/x"},"offset":{"position":7,"f":1.5}}'
    told = b'{"offsets":[' + first + b',{"partition":null,"offset":null}]}'
    assert ask("GET", "/connectors/c/offsets").body == told
    assert ask("DELETE", "/connectors/c/offsets").body == b'{"message":"reset"}'


@pytest.mark.parametrize("body", [b"{}", b'{"offsets":null}', b'{"offsets":[]}'])
def test_no_offsets_are_400(ask: Asking, body: bytes) -> None:
    answer = ask("PATCH", "/connectors/c/offsets", body)
    assert answer.status == 400
    assert answer.message == "Partitions / offsets need to be provided for an alter offsets request"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (None, "no body"),
        (b'{"offsets":{}}', "offsets: expected an array"),
        (b'{"offsets":[null]}', "offsets.0: expected"),
        (b'{"offset":[]}', 'Unrecognized field "offset"'),
        (b'{"offsets":[{"partition":{},"extra":1}]}', 'Unrecognized field "extra" (class org.apache.kafka.connect.'),
        (
            b'{"offsets":[{"partition":{},"offset":5}]}',
            "offsets.0.offset: expected an object, got a number",
        ),
    ],
)
def test_unreadable_offsets_are_500(ask: Asking, body: bytes | None, text: str) -> None:
    answer = ask("PATCH", "/connectors/c/offsets", body)
    assert answer.status == 500
    assert text in answer.message


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 1), ("?connectorsOnly=", 1), ("?connectorsOnly=TRUE", 1), ("?connectorsOnly=no", 2)],
)
def test_plugins_are_listed(ask: Asking, query: str, count: int) -> None:
    listed = [
        {"class": "x.Sink", "type": "sink", "version": "4.3.1"},
        {"class": "x.Conv", "type": "converter"},
    ]
    assert ask("GET", f"/connector-plugins{query}").json == listed[:count]


@pytest.mark.parametrize(("query", "version"), [("", None), ("?version=latest", None), ("?version=%5B1,2)", "[1,2)")])
def test_plugin_config_takes_a_version(herder: MemoryHerder, ask: Asking, query: str, version: str | None) -> None:
    assert [key["name"] for key in ask("GET", f"/connector-plugins/p/config{query}").json] == ["p"]
    assert herder.asked_version == version


@pytest.mark.parametrize("plugin", ["FileStreamSink", "FileStreamSinkConnector", "Sink"])
def test_validate_takes_the_end_of_a_class_name(ask: Asking, plugin: str) -> None:
    answer = ask("PUT", f"/connector-plugins/{plugin}/config/validate", {"connector.class": "FileStreamSink"})
    assert (answer.status, answer.json["name"]) == (200, "FileStreamSink")


@pytest.mark.parametrize("plugin", ["FileStreamSource", "x.FileStreamSinkConnector", "Connector"])
def test_validate_refuses_another_class(ask: Asking, plugin: str) -> None:
    answer = ask("PUT", f"/connector-plugins/{plugin}/config/validate", {"connector.class": "FileStreamSink"})
    assert (answer.status, answer.message) == (400, NOT_CHOSEN.format(plugin))


def test_validate_without_class_is_javas_500(ask: Asking) -> None:
    answer = ask("PUT", "/connector-plugins/FileStreamSink/config/validate", {})
    wrapped = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException"
    assert (answer.status, answer.message) == (
        500,
        f"{wrapped}: Connector config {{}} contains no connector type",
    )


def test_loggers_are_listed_by_name(ask: Asking) -> None:
    listed = b'{"a.b":{"level":"DEBUG","last_modified":7},"root":{"level":"INFO","last_modified":null}}'
    assert ask("GET", "/admin/loggers").body == listed
    assert ask("GET", "/admin/loggers/a.b").json == {"level": "DEBUG", "last_modified": 7}
    assert ask("GET", "/admin/loggers/nope").message == "Logger nope not found."


@pytest.mark.parametrize(
    ("scope", "status", "body", "level"),
    [
        ("", 200, b'["x"]', "DEBUG"),
        ("?scope=Worker", 200, b'["x"]', "DEBUG"),
        ("?scope=foo", 200, b'["x"]', "DEBUG"),
        ("?scope=cluster", 204, b"", "debug"),
    ],
)
def test_levels_are_set(herder: MemoryHerder, ask: Asking, scope: str, status: int, body: bytes, level: str) -> None:
    answer = ask("PUT", f"/admin/loggers/x{scope}", {"level": "debug"})
    assert (answer.status, answer.body) == (status, body)
    assert herder.levels["x"] == LoggerLevel(level, 1)


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (b"{}", 400, "Desired 'level' parameter was not specified in request."),
        (b'{"level":null}', 400, "Desired 'level' parameter was not specified in request."),
        (b'{"level":"BAD"}', 404, "invalid log level 'BAD'."),
        (b'{"level":5}', 404, "invalid log level '5'."),
    ],
)
def test_unknown_levels_are_refused(ask: Asking, body: bytes, status: int, text: str) -> None:
    answer = ask("PUT", "/admin/loggers/x", body)
    assert (answer.status, answer.message) == (status, text)
