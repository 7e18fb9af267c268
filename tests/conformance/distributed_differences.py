"""Where a distributed worker of ours answers otherwise than Java's 4.3.1 on purpose, each with its reason."""

from collections.abc import Mapping
from dataclasses import replace

from tests.conformance import rest_differences
from tests.conformance.rest_differences import NO_BODY, NO_JSON, Difference, located, readable

MOST_REASONS = 14

# In these, Java's distributed worker does what ours does in both modes.
STANDALONE_ONLY = frozenset({"unknown, stop", "unknown, restart", "unknown, restart task", "deleted, topics"})

UNSIGNED = Difference(
    frozenset({"status", "body"}),
    400,
    "Internal request missing required signature",
    "Java reads the body first; ours checks that a request of a worker is signed before it takes memory for the body",
)

DIFFERENCES: Mapping[str, Difference] = {
    **{step: difference for step, difference in rest_differences.DIFFERENCES.items() if step not in STANDALONE_ONLY},
    "POST /connectors/x/tasks, body in xml": UNSIGNED,
    "tasks, no json": located("at the body: expected an array, got an object"),
    "tasks, object": located("at the body: expected"),
    "tasks, nothing": NO_BODY,
    "patch, null": NO_BODY,
    "patch, list": located("at the body: expected"),
    "patch, object inside": located("at a: expected a string, got an object"),
    "patch, no class": replace(rest_differences.DIFFERENCES["no class, put"], says="contains no connector type"),
    "so, list": located("at offsets.0.offset: expected an object, got a"),
    "so, more fields": located("at more"),
    "so, no json": NO_JSON,
    "so, array": located("at the body: expected"),
    "made, null config": readable("`config` is missing"),
    "made, empty initial state": located("at initial_state: `` is none of RUNNING, PAUSED, STOPPED"),
    "made, more fields": located("at tasks"),
    "odd {}, put": Difference(
        frozenset({"status", "body", "location"}),
        201,
        "{}",
        "Java creates the connector and then fails over its own address; ours answers as for any name",
    ),
}
