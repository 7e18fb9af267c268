"""The board's JSON against Grafana's schema, and its queries against the groups of metrics."""

import json
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from connect_dagster.connectors.mirror import metrics as mirror
from connect_dagster.connectors.mysql import metric_groups as capture
from connect_dagster.worker.metrics.clients import CLIENT_GROUPS
from connect_dagster.worker.metrics.groups import GROUPS
from tests.grafana_board import OF_PROMETHEUS, board, selectors

ALL = (*GROUPS, *CLIENT_GROUPS, mirror.PARTITIONS, mirror.CHECKPOINTS, capture.CAPTURE, capture.TABLES)


def without_unknown(given: Any, known: Any) -> Any:
    """What is in both, so that a difference names what the schema does not have."""
    if isinstance(given, dict) and isinstance(known, dict):
        return {name: without_unknown(value, known[name]) for name, value in given.items() if name in known}
    if isinstance(given, list) and isinstance(known, list):
        return [without_unknown(*both) for both in zip(given, known, strict=True)]
    return known


def test_grafana_knows_all_of_it() -> None:
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(board())))
    assert without_unknown(board(), read) == board()


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    panels = board()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: dict[tuple[int, int], str] = {}
    for panel in panels:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, (panel["title"], taken[x, y])
                taken[x, y] = panel["title"]
    assert max(x for x, _ in taken) == 23


def test_the_board_has_its_rows() -> None:
    rows = [panel["title"] for panel in board()["panels"] if panel["type"] == "row"]
    assert rows == [
        "Workers",
        "Connectors",
        "Tasks",
        "Lag",
        "Errors",
        "Kafka clients",
        "Change data capture",
        "MirrorMaker",
    ]


def test_each_query_asks_for_a_metric_and_labels_that_it_has() -> None:
    labels: dict[str, list[set[str]]] = {}
    for group in ALL:
        for name in group.numbers:
            labels.setdefault(f"{group.prefix}_{name}".replace("-", "_"), []).append(set(group.tags))
        for name in group.texts:
            text = name.replace("-", "_")
            labels.setdefault(f"{group.prefix}_{text}", []).append({*group.tags, text.removesuffix("_info")})
    found = selectors()
    assert len(found) > 60
    for selector in found:
        assert selector.name in labels, selector
        assert any(selector.labels - OF_PROMETHEUS <= known for known in labels[selector.name]), selector
