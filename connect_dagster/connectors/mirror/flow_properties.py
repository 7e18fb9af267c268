"""Properties of flows in mm2.properties that would be without effect: a misspelt alias, a blank in the name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from connect_dagster.connectors.mirror.flow import ARROW, Flow
from connect_dagster.errors import ConfigError


def all_flows(clusters: Sequence[str]) -> list[Flow]:
    """Return every flow that these clusters could have, in their order."""
    return [Flow(source, target) for source, target in permutations(clusters, 2)]


def check_flow_properties(properties: Mapping[str, str], clusters: Sequence[str]) -> None:
    """Check that lines with an arrow set a property of a flow that can exist; others have no effect in Java.

    Flows of clusters that are not listed are left out: a cluster is taken out of a file for a time.

    Raises:
        ConfigError: a property does not; names it and the reason.
    """
    prefixes = tuple(flow.prefix for flow in all_flows(clusters))
    for name, value in properties.items():
        if not name.startswith(prefixes) and (fault := _fault_of(name, value, clusters)) is not None:
            raise ConfigError(fault, name=name, value=value)


def _fault_of(name: str, value: str, clusters: Sequence[str]) -> str | None:
    _, arrow, rest = name.partition(ARROW)
    option = rest.partition(".")[2]
    # In this format a blank ends a name, as = and : do.
    if (name in clusters and value.startswith(ARROW)) or (arrow and not option):
        return (
            f"The line '{name} = {value}' sets no property of a flow: names end at a blank. Write it without blanks "
            "before the value, such as A->B.enabled=true."
        )
    if any(name.startswith(Flow(alias, alias).prefix) for alias in clusters):
        return f"{name} is for a flow from a cluster to itself, which does not exist."
    return None
