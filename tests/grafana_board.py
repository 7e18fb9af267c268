"""The board of `examples/grafana`: its queries, and the metrics that they ask for."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser

BOARD = Path(__file__).parents[1] / "examples" / "grafana" / "connect.json"
OF_PROMETHEUS = {"job", "instance"}
"""Labels that Prometheus adds when it scrapes."""
# Grafana puts these in place of its variables.
_VARIABLES = {"$__rate_interval": "1m", "$job": ".*", "$instance": ".*", "$connector": ".*"}


@dataclass(frozen=True, slots=True)
class Selector:
    """One metric of a query.

    Attributes:
        panel: the panel's row and title, for messages.
        name: of the metric.
        labels: all that the query names: in matchers, groupings and legends.
    """

    panel: str
    name: str
    labels: frozenset[str]


def board() -> dict[str, Any]:
    """The board as Grafana imports it."""
    found: dict[str, Any] = json.loads(BOARD.read_text())
    return found


def selectors() -> list[Selector]:
    """The metrics of all queries, and of the board's variables."""
    row = ""
    found: list[Selector] = []
    for panel in board()["panels"]:
        if panel["type"] == "row":
            row = panel["title"]
            continue
        for target in panel["targets"]:
            legend = {part.partition("}}")[0] for part in target["legendFormat"].split("{{")[1:]}
            found += _selectors(f"{row}: {panel['title']}", target["expr"], legend)
    for variable in board()["templating"]["list"]:
        if variable["type"] == "query":
            selector, _, label = variable["query"]["query"].removeprefix("label_values(").rpartition(",")
            found += _selectors(f"variable {variable['name']}", selector, {label.removesuffix(")").strip()})
    return found


def _selectors(panel: str, query: str, labels: set[str]) -> Iterator[Selector]:
    for name, value in _VARIABLES.items():
        query = query.replace(name, value)
    for expression in _parts(promql_parser.parse(query)):
        if isinstance(expression, promql_parser.AggregateExpr) and expression.modifier is not None:
            labels = labels | set(expression.modifier.labels)
        if isinstance(expression, promql_parser.VectorSelector):
            matched = {matcher.name for matcher in expression.matchers.matchers}
            yield Selector(panel, expression.name or "", frozenset(labels | matched))


def _parts(expression: Any) -> Iterator[Any]:
    """Yield an expression and all in it, outer ones first."""
    yield expression
    inner = [getattr(expression, name, None) for name in ("expr", "lhs", "rhs", "vector_selector")]
    for part in (*inner, *getattr(expression, "args", ())):
        if part is not None:
            yield from _parts(part)
