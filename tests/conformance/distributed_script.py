"""The calls that are played to a distributed worker of Java's and to ours: those for standalone, and more.

Of the standalone script all scenes are played but that of the internal endpoints, which only a cluster has.
"""

from collections.abc import Callable
from dataclasses import replace

from tests.conformance import rest_script
from tests.conformance.rest_script import FORM, TEXT, Step, create, holds, shows, sink, source
from tests.rest_calls import Answer

XML = {"Content-Type": "application/xml"}
WANTS_XML = {"Accept": "application/xml"}
ALGORITHM = "X-Connect-Request-Signature-Algorithm"
SIGNATURE = "X-Connect-Authorization"


def answers(status: int) -> Callable[[Answer], bool]:
    """Whether it has this status."""
    return lambda answer: answer.status == status


def _signed(signature: str, algorithm: str = "HmacSHA256") -> dict[str, str]:
    return {ALGORITHM: algorithm, SIGNATURE: signature}


def _offset(partition: object, offset: object) -> dict[str, object]:
    return {"offsets": [{"partition": partition, "offset": offset}]}


def _file(name: str, offset: object) -> dict[str, object]:
    return _offset({"filename": name}, offset)


# What a standalone worker does before it answers, and a distributed one some time later.
LATER: dict[str, Callable[[Answer], bool]] = {
    "topics, after reset": holds('"topics":[]'),
    # Java lists what it has read of the topic, and reads on only then.
    "offsets, altered": holds("/y"),
    "offsets, reset": holds('"offsets":[]'),
    "deleted, status": answers(404),
    "deleted, task status": answers(404),
}

TARGETS = (
    "/",
    "/health",
    "/connectors",
    "/connectors/x",
    "/connectors/x/config",
    "/connectors/x/status",
    "/connectors/x/restart",
    "/connectors/x/stop",
    "/connectors/x/pause",
    "/connectors/x/resume",
    "/connectors/x/tasks",
    "/connectors/x/tasks/0/status",
    "/connectors/x/tasks/0/restart",
    "/connectors/x/topics",
    "/connectors/x/topics/reset",
    "/connectors/x/offsets",
    "/connectors/x/fence",
    "/connector-plugins",
    "/connector-plugins/FileStreamSink/config",
    "/connector-plugins/FileStreamSink/config/validate",
    "/admin/loggers",
    "/admin/loggers/x",
)

METHODS = (
    *(Step(f"options {target}", f"OPTIONS {target}") for target in TARGETS),
    *(
        Step(f"no {call}", call)
        for call in (
            "DELETE /",
            "PUT /health",
            "PUT /connectors",
            "POST /connectors/x",
            "PUT /connectors/x",
            "DELETE /connectors/x/config",
            "POST /connectors/x/status",
            "GET /connectors/x/restart",
            "PUT /connectors/x/restart",
            "POST /connectors/x/stop",
            "GET /connectors/x/resume",
            "DELETE /connectors/x/tasks",
            "PUT /connectors/x/tasks",
            "PUT /connectors/x/tasks/0/status",
            "GET /connectors/x/tasks/0/restart",
            "PUT /connectors/x/topics",
            "GET /connectors/x/topics/reset",
            "POST /connectors/x/offsets",
            "PUT /connectors/x/offsets",
            "GET /connectors/x/fence",
            "POST /connector-plugins",
            "DELETE /connector-plugins/FileStreamSink/config",
            "POST /connector-plugins/FileStreamSink/config/validate",
            "PUT /admin/loggers",
        )
    ),
    *(
        Step(f"head {target}", f"HEAD {target}")
        for target in (
            "/health",
            "/connectors",
            "/connectors/x",
            "/connectors/x/pause",
            "/nope",
            "/connectors/x/topics",
        )
    ),
    *(
        Step(f"{call}, body in xml", call, b"<a/>", XML)
        for call in (
            "POST /connectors",
            "PUT /connectors/x/config",
            "PATCH /connectors/x/config",
            "PATCH /connectors/x/offsets",
            "PUT /connectors/x/stop",
            "POST /connectors/x/restart",
            "PUT /connector-plugins/FileStreamSink/config/validate",
            "PUT /admin/loggers/x",
            "POST /connectors/x/tasks",
        )
    ),
    *(
        Step(f"{call}, answer in xml", call, headers=WANTS_XML)
        for call in (
            "GET /",
            "GET /health",
            "GET /connectors/x",
            "DELETE /connectors/x",
            "PUT /connectors/x/pause",
            "GET /connectors/x/topics",
            "GET /connector-plugins",
            "GET /admin/loggers/x",
        )
    ),
    Step("text as json", "PUT /connectors/x/config", b"{}", TEXT),
    Step("json with a charset", "PUT /connectors/x/config", b"{}", {"Content-Type": "application/json; charset=utf-8"}),
    Step("form to an action", "POST /connectors/x/restart", b"a=b", FORM),
    Step("no such plugin path", "GET /connector-plugins/FileStreamSink/nope"),
    Step("no such admin path", "GET /admin"),
    Step("path with a dot", "GET /connectors/./x"),
)

SIGNED = (
    Step("tasks, unsigned", "POST /connectors/x/tasks", []),
    Step("tasks, algorithm alone", "POST /connectors/x/tasks", [], {ALGORITHM: "HmacSHA256"}),
    Step("tasks, signature alone", "POST /connectors/x/tasks", [], {SIGNATURE: "AAAA"}),
    Step("tasks, wrong signature", "POST /connectors/x/tasks", [], _signed("A" * 43 + "=")),
    Step("tasks, short signature", "POST /connectors/x/tasks", [], _signed("AAAA")),
    Step("tasks, no base64", "POST /connectors/x/tasks", [], _signed("?")),
    Step("tasks, other algorithm", "POST /connectors/x/tasks", [], _signed("A" * 43 + "=", "HmacSHA1")),
    Step("tasks, unknown algorithm", "POST /connectors/x/tasks", [], _signed("A" * 43 + "=", "Rot13")),
    Step("tasks, signature of another body", "POST /connectors/x/tasks", [{}], _signed("{signature_of_no_tasks}")),
    Step("tasks, signed, unknown", "POST /connectors/x/tasks", b"[]", _signed("{signature_of_no_tasks}")),
    Step("tasks, no json", "POST /connectors/x/tasks", b"{", _signed("AAAA")),
    Step("tasks, object", "POST /connectors/x/tasks", {}, _signed("AAAA")),
    Step("tasks, nothing", "POST /connectors/x/tasks", None, _signed("AAAA")),
    Step("fence, unsigned", "PUT /connectors/x/fence"),
    Step("fence, body", "PUT /connectors/x/fence", b"abc"),
    Step("fence, wrong signature", "PUT /connectors/x/fence", b"", _signed("A" * 43 + "=")),
    Step("fence, signed, unknown", "PUT /connectors/x/fence", b"", _signed("{signature_of_nothing}")),
    Step("fence, not to be forwarded", "PUT /connectors/x/fence?forward=false"),
    Step("signed, create", "PUT /connectors/g/config", source()),
    Step("signed, running", "GET /connectors/g/status", until=shows("RUNNING", "RUNNING")),
    Step("tasks, unsigned, known", "POST /connectors/g/tasks", []),
    Step("fence, unsigned, known", "PUT /connectors/g/fence"),
    Step("fence, signed, known", "PUT /connectors/g/fence", b"", _signed("{signature_of_nothing}")),
    Step("signed, delete", "DELETE /connectors/g"),
)

FORWARDED = (
    Step("forward, create", "POST /connectors?forward=true", create("w", source())),
    Step("forward, running", "GET /connectors/w/status?forward=true", until=shows("RUNNING", "RUNNING")),
    Step("forward, put", "PUT /connectors/w/config?forward=false", source(a="b")),
    Step("forward, patch", "PATCH /connectors/w/config?forward=true", {"a": None}),
    Step("forward, put settled", "GET /connectors/w/status", until=shows("RUNNING", "RUNNING")),
    Step("forward, restart", "POST /connectors/w/restart?forward=false"),
    Step("forward, restarted", "GET /connectors/w/status", until=shows("RUNNING", "RUNNING")),
    Step("forward, restart with tasks", "POST /connectors/w/restart?forward=true&includeTasks=true"),
    Step("forward, all restarted", "GET /connectors/w/status", until=shows("RUNNING", "RUNNING")),
    Step("forward, task restart", "POST /connectors/w/tasks/0/restart?forward=false"),
    Step("forward, task restarted", "GET /connectors/w/status", until=shows("RUNNING", "RUNNING")),
    Step("forward, pause", "PUT /connectors/w/pause?forward=true"),
    Step("forward, paused", "GET /connectors/w/status", until=shows("PAUSED", "PAUSED")),
    Step("forward, stop", "PUT /connectors/w/stop?forward=false"),
    Step("forward, stopped", "GET /connectors/w/status", until=shows("STOPPED")),
    Step("forward, alter", "PATCH /connectors/w/offsets?forward=true", _file("{source}", {"position": 1})),
    Step("forward, reset", "DELETE /connectors/w/offsets?forward=maybe"),
    Step("forward, delete", "DELETE /connectors/w?forward=TRUE"),
    Step("forward, gone", "GET /connectors/w/status", until=answers(404)),
)

PATCHED = (
    Step("patch, unknown", "PATCH /connectors/no/config", {}),
    Step("patch, create", "POST /connectors", create("p", source(a="1", b="2"), initial_state="stopped")),
    Step("patch, none", "PATCH /connectors/p/config", {}),
    Step("patch, add, change, remove", "PATCH /connectors/p/config", {"c": "3", "a": "9", "b": None}),
    Step("patch, remove what is not there", "PATCH /connectors/p/config", {"zz": None}),
    Step("patch, number, boolean", "PATCH /connectors/p/config", {"n": 12, "yes": True}),
    Step("patch, patched", "GET /connectors/p/config"),
    Step("patch, null", "PATCH /connectors/p/config", b"null"),
    Step("patch, list", "PATCH /connectors/p/config", []),
    Step("patch, object inside", "PATCH /connectors/p/config", {"a": {"b": "c"}}),
    Step("patch, other name", "PATCH /connectors/p/config", {"name": "q"}),
    Step("patch, no name", "PATCH /connectors/p/config", {"name": None}),
    Step("patch, no class", "PATCH /connectors/p/config", {"connector.class": None}),
    Step("patch, invalid", "PATCH /connectors/p/config", {"tasks.max": "none"}),
    Step("patch, text", "PATCH /connectors/p/config", b"{}", TEXT),
    Step("patch, as before", "GET /connectors/p/config"),
    Step("patch, still stopped", "GET /connectors/p/status", until=shows("STOPPED")),
    Step("patch, delete", "DELETE /connectors/p"),
)

LIFE = (
    Step("life, create", "POST /connectors", create("l", source(), initial_state="RUNNING")),
    Step("life, running", "GET /connectors/l/status", until=shows("RUNNING", "RUNNING")),
    Step("life, resume while running", "PUT /connectors/l/resume"),
    Step("life, pause", "PUT /connectors/l/pause"),
    Step("life, paused", "GET /connectors/l/status", until=shows("PAUSED", "PAUSED")),
    Step("life, pause again", "PUT /connectors/l/pause"),
    Step("life, restart while paused", "POST /connectors/l/restart"),
    Step("life, paused after a restart", "GET /connectors/l/status", until=shows("PAUSED", "PAUSED")),
    Step("life, put while paused", "PUT /connectors/l/config", source(a="b")),
    Step("life, paused after a put", "GET /connectors/l/status", until=shows("PAUSED", "PAUSED")),
    Step("life, offsets while paused", "PATCH /connectors/l/offsets", _file("x", None)),
    Step("life, reset while paused", "DELETE /connectors/l/offsets"),
    Step("life, stop", "PUT /connectors/l/stop"),
    Step("life, stopped", "GET /connectors/l/status", until=shows("STOPPED")),
    Step("life, stop again", "PUT /connectors/l/stop"),
    Step("life, stopped again", "GET /connectors/l/status", until=shows("STOPPED")),
    Step("life, info while stopped", "GET /connectors/l"),
    Step("life, restart while stopped", "POST /connectors/l/restart"),
    Step("life, stopped after a restart", "GET /connectors/l/status", until=shows("STOPPED")),
    Step("life, restart tasks while stopped", "POST /connectors/l/restart?includeTasks=true"),
    Step("life, task restart while stopped", "POST /connectors/l/tasks/0/restart"),
    Step("life, stopped after restarts", "GET /connectors/l/status", until=shows("STOPPED")),
    Step("life, put while stopped", "PUT /connectors/l/config", source(c="d")),
    Step("life, no tasks while stopped", "GET /connectors/l/tasks"),
    Step("life, pause while stopped", "PUT /connectors/l/pause"),
    Step("life, paused after stopped", "GET /connectors/l/status", until=shows("PAUSED")),
    Step("life, resume", "PUT /connectors/l/resume"),
    Step("life, resumed", "GET /connectors/l/status", until=shows("RUNNING", "RUNNING")),
    Step("life, tasks", "GET /connectors/l/tasks"),
    Step("life, delete", "DELETE /connectors/l"),
    Step("life, deleted", "GET /connectors/l/status", until=answers(404)),
    Step("life, pause of deleted", "PUT /connectors/l/pause"),
    Step("life, topics of deleted", "GET /connectors/l/topics", until=holds("[]")),
    Step("life, create anew", "PUT /connectors/l/config", source()),
    Step("life, running anew", "GET /connectors/l/status", until=shows("RUNNING", "RUNNING")),
    Step("life, delete while running", "DELETE /connectors/l"),
)

RESTARTS = (
    Step("restart, create", "PUT /connectors/r/config", source()),
    Step("restart, running", "GET /connectors/r/status", until=shows("RUNNING", "RUNNING")),
    *(
        step
        for number, query in enumerate(
            (
                "includeTasks=false&onlyFailed=false",
                "onlyFailed=true",
                "includeTasks=true&onlyFailed=false",
                "includeTasks=true&onlyFailed=true",
                "includeTasks=",
                "includeTasks=true&includeTasks=false",
                "includetasks=true",
            )
        )
        for step in (
            Step(f"restart {query}", f"POST /connectors/r/restart?{query}"),
            Step(f"restart, running {number}", "GET /connectors/r/status", until=shows("RUNNING", "RUNNING")),
        )
    ),
    Step("restart, body", "POST /connectors/r/restart", {"includeTasks": True}),
    Step("restart, task without such id", "POST /connectors/r/tasks/7/restart"),
    Step("restart, task of negative id", "POST /connectors/r/tasks/-1/restart"),
    Step("restart, task of no number", "POST /connectors/r/tasks/a/restart"),
    Step("restart, task", "POST /connectors/r/tasks/0/restart", b"{}"),
    Step("restart, task restarted", "GET /connectors/r/status", until=shows("RUNNING", "RUNNING")),
    Step("restart, delete", "DELETE /connectors/r"),
)

SOURCE_OFFSETS = (
    Step("so, create", "POST /connectors", create("so", source(topic="{topic}-so"), initial_state="STOPPED")),
    Step("so, stopped", "GET /connectors/so/status", until=shows("STOPPED")),
    Step("so, none", "GET /connectors/so/offsets"),
    Step("so, reset none", "DELETE /connectors/so/offsets"),
    Step("so, alter before it ever ran", "PATCH /connectors/so/offsets", _file("{source}", {"position": 14})),
    Step("so, altered", "GET /connectors/so/offsets", until=holds('"position":14')),
    Step("so, alter to null", "PATCH /connectors/so/offsets", _file("/unknown", None)),
    Step("so, null partition", "PATCH /connectors/so/offsets", _offset(None, {"position": 1})),
    Step("so, no partition", "PATCH /connectors/so/offsets", {"offsets": [{"offset": {"position": 1}}]}),
    Step("so, no offset", "PATCH /connectors/so/offsets", {"offsets": [{"partition": {"filename": "/n"}}]}),
    Step("so, other partition key", "PATCH /connectors/so/offsets", _offset({"file": "/a"}, {"position": 1})),
    Step("so, number as file name", "PATCH /connectors/so/offsets", _offset({"filename": 5}, {"position": 1})),
    Step("so, empty offset", "PATCH /connectors/so/offsets", _file("/a", {})),
    Step("so, negative", "PATCH /connectors/so/offsets", _file("/a", {"position": -1})),
    Step("so, fraction", "PATCH /connectors/so/offsets", _file("/a", {"position": 1.5})),
    Step("so, truth", "PATCH /connectors/so/offsets", _file("/a", {"position": True})),
    Step("so, null position", "PATCH /connectors/so/offsets", _file("/a", {"position": None})),
    Step("so, nested", "PATCH /connectors/so/offsets", _file("/a", {"position": {"a": 1}})),
    Step("so, list", "PATCH /connectors/so/offsets", _file("/a", [1])),
    Step("so, more fields", "PATCH /connectors/so/offsets", {"offsets": [], "more": 1}),
    Step("so, no json", "PATCH /connectors/so/offsets", b"{"),
    Step("so, array", "PATCH /connectors/so/offsets", []),
    Step(
        "so, two partitions, one twice",
        "PATCH /connectors/so/offsets",
        {
            "offsets": [
                {"partition": {"filename": "/b"}, "offset": {"position": 1}},
                {"partition": {"filename": "/c"}, "offset": {"position": 2}},
                {"partition": {"filename": "/b"}, "offset": {"position": 3}},
            ]
        },
    ),
    Step("so, unicode", "PATCH /connectors/so/offsets", _file("/한글 é\n", {"position": 3})),
    Step("so, one away", "PATCH /connectors/so/offsets", _file("/c", None)),
    Step("so, resume", "PUT /connectors/so/resume"),
    Step("so, running", "GET /connectors/so/status", until=shows("RUNNING", "RUNNING")),
    Step("so, went on", "GET /connectors/so/topics", until=holds("{topic}-so")),
    Step("so, stop", "PUT /connectors/so/stop"),
    Step("so, stopped again", "GET /connectors/so/status", until=shows("STOPPED")),
    Step("so, reset", "DELETE /connectors/so/offsets"),
    Step("so, reset again", "DELETE /connectors/so/offsets"),
    Step("so, none again", "GET /connectors/so/offsets", until=holds('"offsets":[]')),
    Step("so, delete", "DELETE /connectors/so"),
)

SINK_OFFSETS = (
    Step("ko, feed", "PUT /connectors/ko-feed/config", source(topic="{topic}-ko")),
    Step("ko, fed", "GET /connectors/ko-feed/topics", until=holds("{topic}-ko")),
    Step("ko, create", "POST /connectors", create("{prefix}ko", sink(topics="{topic}-ko"), initial_state="STOPPED")),
    Step("ko, stopped", "GET /connectors/{prefix}ko/status", until=shows("STOPPED")),
    Step("ko, none", "GET /connectors/{prefix}ko/offsets"),
    Step("ko, reset none", "DELETE /connectors/{prefix}ko/offsets"),
    *(
        Step(
            f"ko, {what}",
            "PATCH /connectors/{prefix}ko/offsets",
            _offset({"kafka_topic": "{topic}-ko", "kafka_partition": partition}, offset),
        )
        for what, partition, offset in (
            ("before it ever ran", 0, {"kafka_offset": 2}),
            ("text for both", "0", {"kafka_offset": "1"}),
            ("negative", 0, {"kafka_offset": -1}),
            ("fraction", 0, {"kafka_offset": 1.5}),
            ("null offset value", 0, {"kafka_offset": None}),
            ("null partition value", None, {"kafka_offset": 1}),
            ("no such partition", 9, {"kafka_offset": 1}),
            ("negative partition", -1, {"kafka_offset": 1}),
            ("offset too many", 0, {"kafka_offset": 1, "more": 2}),
            ("null", 0, None),
        )
    ),
    Step("ko, no topic", "PATCH /connectors/{prefix}ko/offsets", _offset({"kafka_partition": 0}, {"kafka_offset": 1})),
    Step(
        "ko, null topic",
        "PATCH /connectors/{prefix}ko/offsets",
        _offset({"kafka_topic": None, "kafka_partition": 0}, {"kafka_offset": 1}),
    ),
    Step(
        "ko, more in the partition",
        "PATCH /connectors/{prefix}ko/offsets",
        _offset({"kafka_topic": "{topic}-ko", "kafka_partition": 0, "more": 1}, {"kafka_offset": 1}),
    ),
    Step("ko, altered", "GET /connectors/{prefix}ko/offsets"),
    Step("ko, resume", "PUT /connectors/{prefix}ko/resume"),
    Step("ko, read", "GET /connectors/{prefix}ko/offsets", until=holds('"kafka_offset":3')),
    Step("ko, alter while running", "PATCH /connectors/{prefix}ko/offsets", _offset({}, None)),
    Step("ko, stop", "PUT /connectors/{prefix}ko/stop"),
    Step("ko, stopped again", "GET /connectors/{prefix}ko/status", until=shows("STOPPED")),
    Step("ko, reset", "DELETE /connectors/{prefix}ko/offsets"),
    Step("ko, reset again", "DELETE /connectors/{prefix}ko/offsets"),
    Step("ko, none again", "GET /connectors/{prefix}ko/offsets", until=holds('"offsets":[]')),
    Step("ko, delete", "DELETE /connectors/{prefix}ko"),
    Step("ko, delete feed", "DELETE /connectors/ko-feed"),
)

TOPICS = (
    Step("topics, source", "PUT /connectors/t/config", source(topic="{topic}-tt")),
    Step("topics, seen", "GET /connectors/t/topics", until=holds("{topic}-tt")),
    Step("topics, sink", "PUT /connectors/{prefix}ts/config", sink(topics="{topic}-tt")),
    Step("topics, of the sink", "GET /connectors/{prefix}ts/topics", until=holds("{topic}-tt")),
    Step("topics, stop", "PUT /connectors/t/stop"),
    Step("topics, stopped", "GET /connectors/t/status", until=shows("STOPPED")),
    Step("topics, kept", "GET /connectors/t/topics"),
    Step("topics, reset them", "PUT /connectors/t/topics/reset", {"any": "body"}),
    Step("topics, none", "GET /connectors/t/topics", until=holds('"topics":[]')),
    Step("topics, reset none", "PUT /connectors/t/topics/reset"),
    Step("topics, the sink's kept", "GET /connectors/{prefix}ts/topics"),
    Step("topics, delete source", "DELETE /connectors/t"),
    Step("topics, delete sink", "DELETE /connectors/{prefix}ts"),
    Step("topics, of the deleted", "GET /connectors/{prefix}ts/topics", until=holds('"topics":[]')),
)

CREATED = (
    Step("made, create", "POST /connectors", create("c", source(), initial_state="STOPPED")),
    Step("made, again", "POST /connectors", create("c", source())),
    Step("made, again, invalid", "POST /connectors", create("c", {"connector.class": "FileStreamSource"})),
    Step("made, again, in blanks", "POST /connectors", create("  c\t", source())),
    Step("made, other case", "POST /connectors", create("C", source(), initial_state="PAUSED")),
    Step("made, the other", "GET /connectors/C"),
    Step("made, put", "PUT /connectors/c/config", source(x="y")),
    Step("made, put of another", "PUT /connectors/c/config", source(name="C")),
    Step("made, put as sink", "PUT /connectors/c/config", sink()),
    Step("made, is a sink", "GET /connectors/c"),
    Step("made, null name", "POST /connectors", {"name": None, "config": source()}),
    Step("made, empty name", "POST /connectors", create("", source())),
    Step("made, name in config alone", "POST /connectors", {"config": source(name="z")}),
    Step("made, null config", "POST /connectors", {"name": "z", "config": None}),
    Step("made, empty initial state", "POST /connectors", create("z", source(), initial_state="")),
    Step("made, more fields", "POST /connectors", create("z", source(), tasks=[])),
    Step("made, twice a field", "POST /connectors", b'{"name":"z","name":"zz","config":{}}'),
    Step(
        "made, group of the workers", "POST /connectors", create("z", sink(**{"consumer.override.group.id": "{group}"}))
    ),
    Step("made, exactly once", "POST /connectors", create("z", source(**{"exactly.once.support": "required"}))),
    Step("made, other exactly once", "POST /connectors", create("z", source(**{"exactly.once.support": "no"}))),
    Step("made, transaction boundary", "POST /connectors", create("z", source(**{"transaction.boundary": "x"}))),
    Step("made, tolerance", "POST /connectors", create("z", sink(**{"errors.tolerance": "some"}))),
    Step("made, converter", "POST /connectors", create("z", source(**{"key.converter": "Nope"}))),
    Step("made, transform without type", "POST /connectors", create("z", source(transforms="a"))),
    Step("made, transform twice", "POST /connectors", create("z", source(transforms="a,a"))),
    Step(
        "made, dead letters into a topic it reads",
        "POST /connectors",
        create("z", sink(**{"errors.deadletterqueue.topic.name": "{topic}"})),
    ),
    Step("made, no tasks", "POST /connectors", create("z", source(**{"tasks.max": 0}))),
    Step("made, delete", "DELETE /connectors/c"),
    Step("made, delete other case", "DELETE /connectors/C"),
    Step("made, gone", "GET /connectors/C/status", until=answers(404)),
)

MORE_NAMES = tuple(
    step
    for name, segment in (
        ("ü€𝄞", "%C3%BC%E2%82%AC%F0%9D%84%9E"),
        ("a&b=c", "a&b=c"),
        ("a,b", "a,b"),
        ("task-a-0", "task-a-0"),
        ("a" * 200, "a" * 200),
        ("{}", "%7B%7D"),
    )
    for step in (
        Step(f"odd {name}, put", f"PUT /connectors/{segment}/config", source()),
        Step(f"odd {name}, running", f"GET /connectors/{segment}/status", until=shows("RUNNING", "RUNNING")),
        Step(f"odd {name}, tasks", f"GET /connectors/{segment}/tasks"),
        Step(f"odd {name}, task", f"GET /connectors/{segment}/tasks/0/status"),
        Step(f"odd {name}, delete", f"DELETE /connectors/{segment}"),
        Step(f"odd {name}, gone", f"GET /connectors/{segment}", until=answers(404)),
    )
)

CLUSTER_LOGGERS = (
    Step("cluster level", "PUT /admin/loggers/d.e?scope=cluster", {"level": "trace"}),
    Step("cluster level, told", "GET /admin/loggers/d.e", until=holds("TRACE")),
    Step("cluster level, scope in capitals", "PUT /admin/loggers/d.e?scope=CLUSTER", {"level": "ERROR"}),
    Step("cluster level, told again", "GET /admin/loggers/d.e", until=holds("ERROR")),
    Step("cluster level, missing", "PUT /admin/loggers/d.e?scope=cluster", {}),
    Step("cluster level, null", "PUT /admin/loggers/d.e?scope=cluster", {"level": None}),
    Step("cluster level, bad", "PUT /admin/loggers/d.e?scope=cluster", {"level": "LOUD"}),
    Step("cluster level, number", "PUT /admin/loggers/d.e?scope=cluster", {"level": 5}),
    Step("cluster level, empty scope", "PUT /admin/loggers/d.f?scope=", {"level": "INFO"}),
    Step("cluster level, two scopes", "PUT /admin/loggers/d.g?scope=worker&scope=cluster", {"level": "INFO"}),
    Step("cluster level, unknown below", "GET /admin/loggers/d.e.f"),
    Step("cluster level, odd name", "PUT /admin/loggers/%20?scope=worker", {"level": "INFO"}),
)

SCENES: dict[str, tuple[Step, ...]] = {
    **{
        name: tuple(replace(step, until=LATER.get(step.id, step.until)) for step in steps)
        for name, steps in rest_script.SCENES.items()
        if steps is not rest_script.INTERNAL
    },
    "methods": METHODS,
    "signed": SIGNED,
    "forwarded": FORWARDED,
    "patched": PATCHED,
    "life": LIFE,
    "restarts": RESTARTS,
    "source offsets": SOURCE_OFFSETS,
    "sink offsets": SINK_OFFSETS,
    "topics": TOPICS,
    "created": CREATED,
    "more names": MORE_NAMES,
    "cluster loggers": CLUSTER_LOGGERS,
}
