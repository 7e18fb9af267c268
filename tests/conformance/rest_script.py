"""The calls that are played to a Java worker and to ours, scene by scene.

Names in braces (`{topic}`, `{source}`, `{sink}`) stand for what differs between the two workers. A scene uses
connectors of its own and starts without them, so scenes can be played alone and in any order.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.rest_calls import Answer

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TEXT = {"Content-Type": "text/plain"}
UNTYPED = {"Content-Type": ""}


def at_once(_: Answer) -> bool:
    """Takes the first answer, whatever it is."""
    return True


@dataclass(frozen=True, slots=True)
class Step:
    """One call.

    Attributes:
        id: unique in the script; names the step in reports and in the table of differences.
        request: method and target, separated by a blank.
        body: bytes, or a value that is sent as JSON.
        headers: more headers; an empty value leaves one out.
        until: the call is repeated until its answer fulfils this; for what workers do in the background.
    """

    id: str
    request: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    until: Callable[[Answer], bool] = at_once


def source(**more: Any) -> dict[str, Any]:
    """A file source's configuration."""
    return {"connector.class": "FileStreamSource", "file": "{source}", "topic": "{topic}", "tasks.max": "1", **more}


def sink(**more: Any) -> dict[str, Any]:
    """A file sink's configuration."""
    return {"connector.class": "FileStreamSink", "file": "{sink}", "topics": "{topic}", "tasks.max": "1", **more}


def create(name: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The body that creates a connector."""
    return {"name": name, "config": config, **more}


def shows(*states: str) -> Callable[[Answer], bool]:
    """Whether a status reports these states, the connector's first."""
    return lambda answer: answer.status == 200 and _states(answer.json) == list(states)


def holds(text: str) -> Callable[[Answer], bool]:
    """Whether the body contains a text."""
    return lambda answer: text.encode() in answer.body


def _states(status: dict[str, Any]) -> list[str]:
    return [part["state"] for part in (status["connector"], *status["tasks"])]


def _offsets(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {"offsets": [{"partition": partition, "offset": offset} for partition, offset in pairs]}


SERVER = (
    Step("root", "GET /"),
    Step("root, head", "HEAD /"),
    Step("root, options", "OPTIONS /"),
    Step("root, other type", "GET /", headers=TEXT),
    Step("root, post", "POST /"),
    Step("health", "GET /health", until=lambda answer: answer.status == 200),
    Step("health, slash", "GET /health/"),
    Step("options", "OPTIONS /connectors"),
    Step("unknown path", "GET /nope"),
    Step("unknown path, below a connector", "GET /connectors/x/nope"),
    Step("path in other case", "GET /Connectors"),
    Step("path with escaped letter", "GET /%63onnectors"),
    Step("delete of the list", "DELETE /connectors"),
    Step("patch of a connector", "PATCH /connectors/x"),
    Step("get of an action", "GET /connectors/x/pause"),
    Step("post of a config", "POST /connectors/x/config", {}),
    Step("unknown method", "FOO /connectors"),
    Step("accepts html", "GET /connectors", headers={"Accept": "text/html"}),
    Step("accepts all", "HEAD /connectors", headers={"Accept": "text/html, */*;q=0.1"}),
    Step("accepts no json", "GET /connectors", headers={"Accept": "application/json;q=0"}),
    Step("double slash", "GET /connectors//"),
    Step("bad escape", "GET /connectors/%zz"),
    Step("bad utf-8", "GET /connectors/%ff/status"),
)

UNREADABLE = (
    Step("create, nothing", "POST /connectors"),
    Step("create, null", "POST /connectors", b"null"),
    Step("create, cut off", "POST /connectors", b"{"),
    Step("create, array", "POST /connectors", []),
    Step("create, number", "POST /connectors", 12),
    Step("create, form", "POST /connectors", b"name=x", FORM),
    Step("create, untyped", "POST /connectors", b"{}", UNTYPED),
    Step("create, no config", "POST /connectors", {"name": "u"}),
    Step("create, unknown field", "POST /connectors", {"nam": "u", "config": {}}),
    Step("create, config is array", "POST /connectors", {"name": "u", "config": []}),
    Step("create, value is object", "POST /connectors", create("u", source(n={"a": 1}))),
    Step("create, value is array", "POST /connectors", create("u", source(n=[1]))),
    Step("create, bad initial state", "POST /connectors", create("u", source(), initial_state="bad")),
    Step("create, number as initial state", "POST /connectors", create("u", source(), initial_state=3)),
    Step("put, nothing", "PUT /connectors/u/config"),
    Step("put, null", "PUT /connectors/u/config", b"null"),
    Step("put, blank", "PUT /connectors/u/config", b" "),
    Step("put, text", "PUT /connectors/u/config", "s"),
    Step("put, broken", "PUT /connectors/u/config", b"{bad"),
    Step("put, more behind", "PUT /connectors/u/config", b'{"a":1} trailing'),
    Step("put, NaN", "PUT /connectors/u/config", b'{"a":NaN}'),
    Step("put, single quotes", "PUT /connectors/u/config", b"{'a':1}"),
    Step("put, bad utf-8", "PUT /connectors/u/config", b'{"a":"\xff"}'),
    Step("put, bare comma", "PUT /connectors/u/config", b'{"a":1,}'),
    Step("put, leading zero", "PUT /connectors/u/config", b'{"a":01}'),
    Step("put, raw tab", "PUT /connectors/u/config", b'{"a":"x\ty"}'),
    Step("put, array inside", "PUT /connectors/u/config", {"a": [1]}),
    Step("pause, form", "PUT /connectors/u/pause", b"", FORM),
    Step("get, text", "GET /connectors/u", headers=TEXT),
    Step("level, nothing", "PUT /admin/loggers/u"),
    Step("level, array", "PUT /admin/loggers/u", []),
    Step("validate, nothing", "PUT /connector-plugins/FileStreamSink/config/validate"),
)

INVALID = (
    Step("no class", "POST /connectors", create("i", {})),
    Step("no class, put", "PUT /connectors/i/config", {"a": 1}),
    Step("unknown class", "POST /connectors", create("i", {"connector.class": "Nope"})),
    Step("no name", "POST /connectors", {"config": source()}),
    Step("number as name", "POST /connectors", {"name": 5, "config": {}}),
    Step("other name", "POST /connectors", create("i", source(name="j"))),
    Step("other name, put", "PUT /connectors/i/config", source(name="j")),
    Step("control character in name", "POST /connectors", create("a\nb", source())),
    Step("null value", "POST /connectors", create("i", source(n=None))),
    Step("no topic", "PUT /connectors/i/config", {"connector.class": "FileStreamSource", "file": "{source}"}),
    Step("empty topic", "PUT /connectors/i/config", source(topic="")),
    Step("text as tasks.max", "PUT /connectors/i/config", source(**{"tasks.max": "abc"})),
    Step("two errors", "PUT /connectors/i/config", source(**{"tasks.max": "0", "batch.size": "x"})),
    Step("sink without topics", "PUT /connectors/i/config", {"connector.class": "FileStreamSink"}),
    Step("sink with both topics", "PUT /connectors/i/config", sink(**{"topics.regex": "a.*"})),
)

UNKNOWN = (
    Step("unknown, info", "GET /connectors/no"),
    Step("unknown, config", "GET /connectors/no/config"),
    Step("unknown, status", "GET /connectors/no/status"),
    Step("unknown, tasks", "GET /connectors/no/tasks"),
    Step("unknown, task status", "GET /connectors/no/tasks/0/status"),
    Step("unknown, topics", "GET /connectors/no/topics"),
    Step("unknown, topics reset", "PUT /connectors/no/topics/reset"),
    Step("unknown, offsets", "GET /connectors/no/offsets"),
    Step("unknown, offsets alter", "PATCH /connectors/no/offsets", _offsets(({"a": 1}, None))),
    Step("unknown, offsets reset", "DELETE /connectors/no/offsets"),
    Step("unknown, delete", "DELETE /connectors/no"),
    Step("unknown, pause", "PUT /connectors/no/pause"),
    Step("unknown, resume", "PUT /connectors/no/resume"),
    Step("unknown, stop", "PUT /connectors/no/stop"),
    Step("unknown, patch", "PATCH /connectors/no/config", {"a": "b"}),
    Step("unknown, restart with tasks", "POST /connectors/no/restart?includeTasks=true"),
    # Last, because Java then reports a status for what does not exist.
    Step("unknown, restart", "POST /connectors/no/restart"),
    Step("unknown, restart task", "POST /connectors/no/tasks/0/restart"),
)

SOURCE = (
    Step("create", "POST /connectors?forward=false", create(" s ", source(n=5, yes=True, u="한글"))),
    Step("create again", "POST /connectors", create("s", source())),
    Step("running", "GET /connectors/s/status", until=shows("RUNNING", "RUNNING")),
    Step("list", "GET /connectors"),
    Step("list, slash", "GET /connectors/"),
    Step("expand", "GET /connectors?expand=info&expand=status"),
    Step("expand status", "GET /connectors?expand=status"),
    Step("expand unknown", "GET /connectors?expand=foo"),
    Step("expand nothing", "GET /connectors?expand"),
    Step("info", "GET /connectors/s?forward=foo"),
    Step("info, slash", "GET /connectors/s/"),
    Step("info, matrix parameter", "GET /connectors/s;b=c"),
    Step("config", "GET /connectors/s/config"),
    Step("tasks", "GET /connectors/s/tasks"),
    Step("task status", "GET /connectors/s/tasks/0/status"),
    Step("task status, unknown", "GET /connectors/s/tasks/1/status"),
    Step("task status, no number", "GET /connectors/s/tasks/a/status"),
    Step("task status, big number", "GET /connectors/s/tasks/99999999999/status"),
    Step("task", "GET /connectors/s/tasks/0"),
    Step("offsets", "GET /connectors/s/offsets", until=holds("position")),
    Step("topics", "GET /connectors/s/topics", until=holds("{topic}")),
    Step("topics reset", "PUT /connectors/s/topics/reset"),
    Step("topics, after reset", "GET /connectors/s/topics"),
    Step("offsets alter, running", "PATCH /connectors/s/offsets", _offsets(({"filename": "x"}, {"position": 1}))),
    Step("offsets reset, running", "DELETE /connectors/s/offsets"),
    Step("restart", "POST /connectors/s/restart"),
    Step("restart, odd flags", "POST /connectors/s/restart?includeTasks=abc&onlyFailed="),
    Step("running, restarted", "GET /connectors/s/status", until=shows("RUNNING", "RUNNING")),
    Step("restart with tasks", "POST /connectors/s/restart?includeTasks=TRUE"),
    Step("running, all restarted", "GET /connectors/s/status", until=shows("RUNNING", "RUNNING")),
    Step("restart failed", "POST /connectors/s/restart?includeTasks=true&onlyFailed=true"),
    Step("restart task", "POST /connectors/s/tasks/0/restart"),
    Step("running, task restarted", "GET /connectors/s/status", until=shows("RUNNING", "RUNNING")),
    Step("pause", "PUT /connectors/s/pause"),
    Step("paused", "GET /connectors/s/status", until=shows("PAUSED", "PAUSED")),
    Step("resume", "PUT /connectors/s/resume", b"anything"),
    Step("resumed", "GET /connectors/s/status", until=shows("RUNNING", "RUNNING")),
    Step("put", "PUT /connectors/s/config", source(name="s", more="x")),
    Step(
        "put, numbers", "PUT /connectors/s/config", (json.dumps(source())[:-1] + ',"k":1.10,"l":1E400,"m":-0}').encode()
    ),
    Step("put, utf-16", "PUT /connectors/s/config", json.dumps(source()).encode("utf-16")),
    Step("put, twice the key", "PUT /connectors/s/config", (json.dumps(source())[:-1] + ',"k":1,"k":2}').encode()),
    Step("put, invalid", "PUT /connectors/s/config", source(topic="")),
    Step("config, kept", "GET /connectors/s/config"),
    Step("patch", "PATCH /connectors/s/config", {"k": None, "z": 1.5}),
    Step("patch, required", "PATCH /connectors/s/config", {"topic": None}),
    Step("patch, nothing", "PATCH /connectors/s/config"),
    Step("running, changed", "GET /connectors/s/status", until=shows("RUNNING", "RUNNING")),
    Step("stop", "PUT /connectors/s/stop"),
    Step("stopped", "GET /connectors/s/status", until=shows("STOPPED")),
    Step("tasks, stopped", "GET /connectors/s/tasks"),
    Step("offsets alter, nothing", "PATCH /connectors/s/offsets"),
    Step("offsets alter, none", "PATCH /connectors/s/offsets", {}),
    Step("offsets alter, null", "PATCH /connectors/s/offsets", {"offsets": None}),
    Step("offsets alter, no list", "PATCH /connectors/s/offsets", {"offsets": {}}),
    Step("offsets alter, null inside", "PATCH /connectors/s/offsets", {"offsets": [None]}),
    Step("offsets alter, unknown field", "PATCH /connectors/s/offsets", {"offset": []}),
    Step("offsets alter, number as offset", "PATCH /connectors/s/offsets", _offsets(({"filename": "x"}, 5))),
    Step("offsets alter, text", "PATCH /connectors/s/offsets", _offsets(({"filename": "x"}, {"position": "a"}))),
    Step("offsets alter, other key", "PATCH /connectors/s/offsets", _offsets(({"filename": "x"}, {"pos": 1}))),
    Step(
        "offsets alter",
        "PATCH /connectors/s/offsets",
        _offsets(({"filename": "{source}"}, None), ({"filename": "/y"}, {"position": 3})),
    ),
    Step("offsets, altered", "GET /connectors/s/offsets"),
    Step("offsets reset", "DELETE /connectors/s/offsets"),
    Step("offsets reset again", "DELETE /connectors/s/offsets"),
    Step("offsets, reset", "GET /connectors/s/offsets"),
    Step("resume, stopped", "PUT /connectors/s/resume"),
    Step("resumed, stopped", "GET /connectors/s/status", until=shows("RUNNING", "RUNNING")),
    Step("delete", "DELETE /connectors/s"),
    Step("deleted, info", "GET /connectors/s"),
    Step("deleted, status", "GET /connectors/s/status"),
    Step("deleted, topics", "GET /connectors/s/topics"),
    Step("deleted, task status", "GET /connectors/s/tasks/0/status"),
    Step("deleted, again", "DELETE /connectors/s"),
)

INITIAL_STATES = (
    Step("create stopped", "POST /connectors", create("st", source(), initial_state="stopped")),
    Step("created stopped", "GET /connectors/st/status", until=shows("STOPPED")),
    Step("create paused", "POST /connectors", create("pa", source(), initial_state="Paused")),
    Step("created paused", "GET /connectors/pa/status", until=holds("PAUSED")),
    Step("create running", "POST /connectors", create("ru", source(), initial_state=None)),
    Step("created running", "GET /connectors/ru/status", until=shows("RUNNING", "RUNNING")),
    Step("delete stopped", "DELETE /connectors/st"),
    Step("delete paused", "DELETE /connectors/pa"),
    Step("delete running", "DELETE /connectors/ru"),
)

SINK = (
    Step("feed", "POST /connectors", create("feed", source(topic="{topic}-k"))),
    Step("fed", "GET /connectors/feed/topics", until=holds("{topic}-k")),
    Step("sink, create", "PUT /connectors/{prefix}k/config", sink(topics="{topic}-k")),
    Step("sink, running", "GET /connectors/{prefix}k/status", until=shows("RUNNING", "RUNNING")),
    Step("sink, tasks", "GET /connectors/{prefix}k/tasks"),
    Step("sink, topics", "GET /connectors/{prefix}k/topics", until=holds("{topic}")),
    Step("sink, offsets", "GET /connectors/{prefix}k/offsets", until=holds('"kafka_offset":3')),
    Step("sink, stop", "PUT /connectors/{prefix}k/stop"),
    Step("sink, stopped", "GET /connectors/{prefix}k/status", until=shows("STOPPED")),
    Step("sink, null partition", "PATCH /connectors/{prefix}k/offsets", _offsets((None, None))),
    Step("sink, other partition", "PATCH /connectors/{prefix}k/offsets", _offsets(({"a": 1}, None))),
    Step(
        "sink, text as partition",
        "PATCH /connectors/{prefix}k/offsets",
        _offsets(({"kafka_topic": "{topic}-k", "kafka_partition": "a"}, None)),
    ),
    Step(
        "sink, other offset",
        "PATCH /connectors/{prefix}k/offsets",
        _offsets(({"kafka_topic": "{topic}-k", "kafka_partition": "0"}, {"a": 1})),
    ),
    Step(
        "sink, text as offset",
        "PATCH /connectors/{prefix}k/offsets",
        _offsets(({"kafka_topic": "{topic}-k", "kafka_partition": "0"}, {"kafka_offset": "x"})),
    ),
    Step(
        "sink, offsets alter",
        "PATCH /connectors/{prefix}k/offsets",
        _offsets(({"kafka_topic": "{topic}-k", "kafka_partition": "0"}, {"kafka_offset": 1})),
    ),
    Step("sink, offsets altered", "GET /connectors/{prefix}k/offsets"),
    Step("sink, offsets reset", "DELETE /connectors/{prefix}k/offsets"),
    Step("sink, offsets, reset", "GET /connectors/{prefix}k/offsets"),
    Step("sink, delete", "DELETE /connectors/{prefix}k"),
    Step("feed, delete", "DELETE /connectors/feed"),
)

FAILED = (
    Step("failing, create", "PUT /connectors/{prefix}f/config", sink(file="/nonexistent/x")),
    Step("failing, failed", "GET /connectors/{prefix}f/status", until=shows("RUNNING", "FAILED")),
    Step("failing, restart failed", "POST /connectors/{prefix}f/restart?includeTasks=true&onlyFailed=true"),
    Step("failing, failed again", "GET /connectors/{prefix}f/status", until=shows("RUNNING", "FAILED")),
    Step("failing, delete", "DELETE /connectors/{prefix}f"),
)

NAMES = tuple(
    step
    for name, segment in [
        ("a b", "a%20b"),
        ("a+b", "a+b"),
        ("한글", "%ED%95%9C%EA%B8%80"),
        ("a;b", "a%3Bb"),
        ("a:b", "a:b"),
        ("a?b", "a%3Fb"),
        ("a#b", "a%23b"),
        (".a", ".a"),
        ("a/b", "a%2Fb"),
        ("a%b", "a%25b"),
        ('é"q', "%C3%A9%22q"),
    ]
    for step in (
        Step(f"name {name}, create", "POST /connectors", create(name, source(), initial_state="STOPPED")),
        Step(f"name {name}, info", f"GET /connectors/{segment}"),
        Step(f"name {name}, delete", f"DELETE /connectors/{segment}"),
    )
)

VALIDATE = "/connector-plugins/{}/config/validate"
FULL_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"

PLUGINS = (
    Step("plugins", "GET /connector-plugins"),
    Step("plugins, connectors only", "GET /connector-plugins?connectorsOnly="),
    Step("plugins, all", "GET /connector-plugins?connectorsOnly=no"),
    Step("plugin config", "GET /connector-plugins/FileStreamSource/config"),
    Step("plugin config, sink", f"GET /connector-plugins/{FULL_SINK}/config?version=latest"),
    Step("plugin config, version", "GET /connector-plugins/FileStreamSource/config?version=4.3.1"),
    Step("plugin config, other version", "GET /connector-plugins/FileStreamSource/config?version=1"),
    Step("plugin config, bad version", "GET /connector-plugins/FileStreamSource/config?version=%5B"),
    Step("plugin config, converter", "GET /connector-plugins/org.apache.kafka.connect.json.JsonConverter/config"),
    Step("plugin config, unknown", "GET /connector-plugins/Nope/config"),
    Step("plugin", "GET /connector-plugins/FileStreamSource"),
    Step("validate", f"PUT {VALIDATE.format('FileStreamSinkConnector')}", sink()),
    Step("validate, full name", f"PUT {VALIDATE.format(FULL_SINK)}", sink(**{"connector.class": FULL_SINK})),
    Step("validate, valid", f"PUT {VALIDATE.format('FileStreamSource')}", source(name="v")),
    Step("validate, errors", f"PUT {VALIDATE.format('FileStreamSource')}", source(topic="", **{"tasks.max": "a"})),
    Step("validate, null", f"PUT {VALIDATE.format('FileStreamSink')}", sink(x=None)),
    Step("validate, end of name", f"PUT {VALIDATE.format('Sink')}", sink(name="v")),
    Step("validate, alias for full name", f"PUT {VALIDATE.format(FULL_SINK)}", sink()),
    Step("validate, other class", f"PUT {VALIDATE.format('FileStreamSource')}", sink()),
    Step("validate, no class", f"PUT {VALIDATE.format('FileStreamSink')}", {}),
    Step("validate, unknown class", f"PUT {VALIDATE.format('Nope')}", {"connector.class": "Nope"}),
    Step("validate, form", f"PUT {VALIDATE.format('FileStreamSink')}", b"-@", FORM),
    Step("validate, get", f"GET {VALIDATE.format('FileStreamSink')}"),
)

LOGGERS = (
    Step("logger unknown", "GET /admin/loggers/nope"),
    Step("level set", "PUT /admin/loggers/a.b.c", {"level": "TRACE"}),
    Step("level, told", "GET /admin/loggers/a.b.c"),
    Step("level set again", "PUT /admin/loggers/a.b.c", {"level": "trace"}),
    Step("level set, cluster", "PUT /admin/loggers/a.b.c?scope=cluster", {"level": "info"}),
    # A distributed worker has it once it has read its own record, which would overwrite what is set in between.
    Step("level, of the cluster", "GET /admin/loggers/a.b.c", until=holds("INFO")),
    Step("level set, other scope", "PUT /admin/loggers/a.b.c?scope=foo", {"level": "WARN"}),
    Step("level set, scope in capitals", "PUT /admin/loggers/a.b.c?scope=WORKER", {"level": "DEBUG", "x": 1}),
    Step("level, changed", "GET /admin/loggers/a.b.c"),
    Step("level off", "PUT /admin/loggers/a.b.c", {"level": "off"}),
    Step("level, off", "GET /admin/loggers/a.b.c"),
    Step("level missing", "PUT /admin/loggers/a.b.c", {}),
    Step("level null", "PUT /admin/loggers/a.b.c", {"level": None}),
    Step("level bad", "PUT /admin/loggers/a.b.c", {"level": "BAD"}),
    Step("level number", "PUT /admin/loggers/a.b.c", {"level": 5}),
    Step("level, post", "POST /admin/loggers", {"level": "INFO"}),
    Step("level, delete", "DELETE /admin/loggers/root"),
)

INTERNAL = (
    Step("internal tasks", "POST /connectors/x/tasks", []),
    Step("internal fence", "PUT /connectors/x/fence"),
)

SCENES: dict[str, tuple[Step, ...]] = {
    "server": SERVER,
    "unreadable": UNREADABLE,
    "invalid": INVALID,
    "unknown": UNKNOWN,
    "source": SOURCE,
    "initial states": INITIAL_STATES,
    "sink": SINK,
    "failed": FAILED,
    "names": NAMES,
    "plugins": PLUGINS,
    "loggers": LOGGERS,
    "internal": INTERNAL,
}
