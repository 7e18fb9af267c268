"""Where our REST API answers otherwise than Java's 4.3.1 on purpose, each with its reason.

The test holds both sides to it: a step listed here must differ in exactly the named parts. So a difference that
is gone has to leave the table, and a new one cannot hide behind an old one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Difference:
    """One allowed difference.

    Attributes:
        parts: what differs: `status`, `content_type`, `location`, `allow`, `body`.
        ours: our status.
        says: a text that our body holds.
        reason: why.
        same_sentence: whether both messages begin with the same line.
    """

    parts: frozenset[str]
    ours: int
    says: str
    reason: str
    same_sentence: bool = False


def _body(ours: int, says: str, reason: str) -> Difference:
    return Difference(frozenset({"body"}), ours, says, reason)


def readable(says: str) -> Difference:
    return _body(500, says, "Java answers with the text of a Jackson or null pointer exception; ours is for people")


def located(says: str) -> Difference:
    """Jackson's sentence, and then the place in other words."""
    reason = (
        "Java goes on with line, column and a chain of classes, ours with the path to the value and what it should be"
    )
    return replace(_body(500, says, reason), same_sentence=True)


NO_BODY = readable("The request has no body")
NO_JSON = readable("The request body is not valid JSON")
_JETTY = "Jetty refuses the URI with an HTML page before Kafka Connect sees it; ours treats it as any path"
_REACHABLE = "Java creates such a connector, but Jetty refuses every URI that could name it; ours can be operated"

NOT_FOUND = Difference(
    frozenset({"status", "body"}),
    404,
    "no",
    "Java's standalone herder notices, goes on all the same and meets a null; its distributed one answers 404",
)
JETTY_404 = Difference(frozenset({"status", "content_type", "body"}), 404, "HTTP 404 Not Found", _JETTY)
NAMED = Difference(frozenset({"status", "content_type", "body"}), 200, "name", _REACHABLE)
DELETED = Difference(frozenset({"status"}), 204, "", _REACHABLE)

SPARK = _body(
    200, "connect_dagster.connectors.spark.sink.SparkSinkConnector", "Java has no connectors of Spark's formats"
)
UNKNOWN_CLASS = "Failed to find any class that implements Connector and which name matches Nope"
NO_FILE = _body(
    200, "for FileStreamSinkTask: [Errno 2] No such file or directory", "ours tells the system's reason too"
)

DIFFERENCES: Mapping[str, Difference] = {
    "double slash": JETTY_404,
    "bad escape": Difference(frozenset({"content_type", "body", "status"}), 404, "Connector %zz not found", _JETTY),
    "bad utf-8": Difference(frozenset({"content_type", "body", "status"}), 404, "No status found", _JETTY),
    "create, nothing": NO_BODY,
    "create, null": NO_BODY,
    "create, cut off": NO_JSON,
    "create, array": located("at the body: expected"),
    "create, number": located("at the body: expected"),
    "create, no config": readable("`config` is missing"),
    "create, unknown field": located("at nam"),
    "create, config is array": located("at config: expected an object, got an array"),
    "create, value is object": located("at config.n: expected a string, got an object"),
    "create, value is array": located("at config.n: expected a string, got an array"),
    "create, bad initial state": located("at initial_state: `bad` is none of RUNNING, PAUSED, STOPPED"),
    "create, number as initial state": located("at initial_state: `3` is none of RUNNING, PAUSED, STOPPED"),
    "put, nothing": NO_BODY,
    "put, null": NO_BODY,
    "put, blank": NO_BODY,
    "put, text": located("at the body: expected"),
    "put, broken": NO_JSON,
    "put, more behind": NO_JSON,
    "put, NaN": NO_JSON,
    "put, single quotes": NO_JSON,
    "put, bad utf-8": NO_JSON,
    "put, bare comma": NO_JSON,
    "put, leading zero": NO_JSON,
    "put, raw tab": NO_JSON,
    "put, array inside": located("at a: expected a string, got an array"),
    "level, nothing": NO_BODY,
    "level, array": located("at the body: expected"),
    "validate, nothing": NO_BODY,
    "patch, nothing": NO_BODY,
    "offsets alter, nothing": NO_BODY,
    "offsets alter, no list": located("at offsets: expected an array, got an object"),
    "offsets alter, null inside": readable("Cannot read offsets.0: expected"),
    "offsets alter, unknown field": located("at offset"),
    "offsets alter, number as offset": located("at offsets.0.offset: expected an object, got a"),
    "no class, put": _body(
        400, "Connector config {a=1, name=i} contains no connector type", "Java prints the keys in hash order"
    ),
    "unknown class": _body(400, UNKNOWN_CLASS, "Java, from the second call on, puts an exception's name before it"),
    "validate, unknown class": _body(500, UNKNOWN_CLASS, "Java, from the second call on, names two exceptions"),
    "plugins": SPARK,
    "plugins, connectors only": SPARK,
    "plugins, all": _body(200, "org.apache.kafka.connect.json.JsonConverter", "each lists the plugins it comes with"),
    "failing, failed": NO_FILE,
    "failing, restart failed": replace(NO_FILE, ours=202),
    "failing, failed again": NO_FILE,
    "unknown, stop": Difference(
        frozenset({"status", "body"}),
        404,
        "Unknown connector no",
        "Java's standalone herder fails with an internal error where its distributed one answers 404",
    ),
    "unknown, restart": NOT_FOUND,
    "unknown, restart task": NOT_FOUND,
    "deleted, topics": _body(
        200, "[['s', [['topics', []]]]]", "Java's standalone worker remembers a deleted connector's topics"
    ),
    "name a;b, create": Difference(
        frozenset({"location"}), 201, "a;b", "Java's Location cannot be followed: it starts a matrix parameter"
    ),
    "name a/b, create": Difference(
        frozenset({"location"}), 201, "a/b", "Java's Location cannot be followed: it has a segment too many"
    ),
    "name a/b, info": NAMED,
    "name a/b, delete": DELETED,
    "name a%b, info": NAMED,
    "name a%b, delete": DELETED,
}
