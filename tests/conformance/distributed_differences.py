"""Where a distributed worker of ours answers otherwise than Java's 4.3.1 on purpose, each with its reason."""

from collections.abc import Mapping
from dataclasses import replace

from tests.conformance import rest_differences
from tests.conformance.rest_differences import NO_BODY, NO_JSON, Difference, readable

MOST_REASONS = 13

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
    "tasks, no json": NO_JSON,
    "tasks, object": readable("Cannot read the body: expected"),
    "tasks, nothing": NO_BODY,
    "patch, null": NO_BODY,
    "patch, list": readable("Cannot read the body: expected"),
    "patch, object inside": readable("Cannot read a: expected a string, got an object"),
    "patch, no class": replace(rest_differences.DIFFERENCES["no class, put"], says="contains no connector type"),
    "so, list": readable("Cannot read offsets.0.offset: expected"),
    "so, more fields": readable('Unrecognized field "more"'),
    "so, no json": NO_JSON,
    "so, array": readable("Cannot read the body: expected"),
    "made, null config": readable("`config` is missing"),
    "made, empty initial state": readable("`` is none of RUNNING, PAUSED, STOPPED"),
    "made, more fields": readable('Unrecognized field "tasks"'),
    "odd {}, put": Difference(
        frozenset({"status", "body", "location"}),
        201,
        "{}",
        "Java creates the connector and then fails over its own address; ours answers as for any name",
    ),
}
