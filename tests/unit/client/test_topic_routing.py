import pytest

from connect_dagster.client.topic_routing import keeps_topics, routed_topic

ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"
UNWRAP = {"transforms": "u", "transforms.u.type": "io.debezium.transforms.ExtractNewRecordState"}


def routing(regex: str, replacement: str, **more: str) -> dict[str, str | None]:
    one = {"transforms.r.type": ROUTER, "transforms.r.regex": regex, "transforms.r.replacement": replacement}
    return {"transforms": "r", **one, **{f"transforms.r.{key}": value for key, value in more.items()}}


@pytest.mark.parametrize(
    ("regex", "replacement", "topic", "routed"),
    [
        (r"(.*)\.(.*)\.(.*)", "$1-$2-$3", "mysqlavro.ops.orders", "mysqlavro-ops-orders"),
        ("log", "$0", "log-1", "log-1"),
        ("(?<name>[a-z]+)", "${name}-x", "log", "log-x"),
        ("(.*)", r"\$1_$1", "log", "$1_log"),
        ("(.*)", r"a\\b$1", "log", r"a\blog"),
        ("(.*)", "$2", "log", None),
        ("(", "x", "log", None),
    ],
    ids=["groups", "no match", "java syntax", "escaped", "backslash", "no such group", "broken"],
)
def test_a_regex_router_is_computed_as_java_does(regex: str, replacement: str, topic: str, routed: str | None) -> None:
    assert routed_topic(routing(regex, replacement), topic) == routed


def test_a_runaway_expression_is_given_up() -> None:
    """R8: at ce718d3 the expression ran for hours and held the interpreter's lock."""
    assert routed_topic(routing("(a|aa)+$", "x"), "a" * 60 + "!") is None


def test_routers_behind_a_predicate_and_those_that_read_records_cannot_be_told() -> None:
    assert routed_topic(routing("(.*)", "x-$1", predicate="is-big"), "log") is None
    event_router = {"transforms": "o", "transforms.o.type": "io.debezium.transforms.outbox.EventRouter"}
    assert routed_topic(event_router, "log") is None
    by_field = {**UNWRAP, "transforms.u.route.by.field": "kind"}
    assert routed_topic(by_field, "log") is None
    assert not keeps_topics(by_field)


def test_other_transforms_leave_the_topic_as_it_is() -> None:
    assert routed_topic(UNWRAP, "log") == "log"
    assert keeps_topics(UNWRAP)
    assert not keeps_topics(routing("(.*)", "x-$1"))
