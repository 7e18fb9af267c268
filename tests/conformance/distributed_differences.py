"""Where a distributed worker of ours answers otherwise than Java's 4.3.1 on purpose, each with its reason."""

from collections.abc import Mapping
from dataclasses import replace

from tests.conformance import rest_differences
from tests.conformance.rest_differences import NO_BODY, NO_JSON, Difference, readable

MOST_REASONS = 12

# In these, Java's distributed worker does what ours does in both modes.
STANDALONE_ONLY = frozenset({"unknown, stop", "unknown, restart", "unknown, restart task", "deleted, topics"})

DIFFERENCES: Mapping[str, Difference] = {
    **{step: difference for step, difference in rest_differences.DIFFERENCES.items() if step not in STANDALONE_ONLY},
    "POST /connectors/x/tasks, body in xml": NO_JSON,
    "tasks, no json": NO_JSON,
    "tasks, object": readable("Cannot read the body: Input should be"),
    "tasks, nothing": NO_BODY,
    "patch, null": NO_BODY,
    "patch, list": readable("Cannot read the body: Input should be"),
    "patch, object inside": readable("Cannot read a: expected a string, got an object"),
    "patch, no class": replace(rest_differences.DIFFERENCES["no class, put"], says="contains no connector type"),
    "so, list": readable("Cannot read offsets.0.offset: Input should be"),
    "so, more fields": readable('Unrecognized field "more"'),
    "so, no json": NO_JSON,
    "so, array": readable("Cannot read the body: Input should be"),
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
