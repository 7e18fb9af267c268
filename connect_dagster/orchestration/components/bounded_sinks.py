"""Bounds of sinks in YAML."""

import dagster as dg
from pydantic import Field, NonNegativeInt

from connect_dagster.orchestration.checks.sink_bounds import SinkBounds


class BoundedSinks(dg.Model, dg.Resolvable):
    """Attributes of components whose sinks are checked."""

    max_lag: NonNegativeInt | None = Field(
        default=None,
        description="Most records of its topics that a sink may not have committed yet, before its check "
        "`connector_lag` fails; without it no such check is made. The workspace needs `bootstrap_servers`.",
    )
    max_dead_letters: NonNegativeInt | None = Field(
        default=0,
        description="Most records that may be added to the dead letter queue of a sink between two evaluations, before "
        "its check `dead_letters` fails; null for no check. It is made of sinks with such a topic, where the workspace "
        "has `bootstrap_servers`.",
    )

    def bounds(self) -> SinkBounds:
        """Return the bounds."""
        return SinkBounds(self.max_lag, self.max_dead_letters)
