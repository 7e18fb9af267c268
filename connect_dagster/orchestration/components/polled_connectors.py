"""The polling sensor in YAML, and the freshness policy that its materialisations serve."""

from datetime import timedelta

import dagster as dg
from pydantic import Field

from connect_dagster.orchestration._compat import TimeWindowFreshnessPolicy
from connect_dagster.orchestration.components.freshness import ResolvedFreshnessPolicy
from connect_dagster.orchestration.sensors.polling import EVENT_INTERVAL_SECONDS


class PolledConnectors(dg.Model, dg.Resolvable):
    """Attributes of components whose connectors a polling sensor reports."""

    polling_sensor: bool = Field(default=True, description="Whether a sensor reports states, lag and progress.")
    event_interval_seconds: int = Field(
        default=EVENT_INTERVAL_SECONDS,
        description="Seconds between two events that the sensor reports of an asset, unless a state or a configuration "
        "changed. It decides how fast the event log grows.",
    )
    freshness_policy: ResolvedFreshnessPolicy = Field(
        default=None,
        description="When the data that the connectors write is fresh: `fail_window_minutes` and "
        "`warn_window_minutes`, or `deadline_cron`, `lower_bound_delta_minutes` and `timezone`.",
    )
    observe_topics: bool = Field(
        default=False,
        description="Whether the topics that the connectors write are observable: Observe reads their offsets, sizes "
        "and newest times. The workspace needs `bootstrap_servers`.",
    )
    pool: str | None = Field(
        default=None,
        description="Pool of the steps of Materialize and of the jobs, whose limit in Dagster bounds how many run at "
        "once.",
    )
    input_assets: bool = Field(
        default=True,
        description="Whether the tables and files that the connectors read are assets here. False where another "
        "component of the code location has them, as one that writes them.",
    )

    def served_freshness_policy(self) -> dg.FreshnessPolicy | None:
        """Return the freshness policy.

        Raises:
            DagsterInvalidDefinitionError: The polling sensor is switched off, or reports less often than the policy
                needs.
        """
        policy = self.freshness_policy
        if policy is not None and not self.polling_sensor:
            raise dg.DagsterInvalidDefinitionError(
                "freshness_policy needs the materialisations of the polling sensor: leave polling_sensor true"
            )
        if isinstance(policy, TimeWindowFreshnessPolicy):
            shortest = (policy.warn_window or policy.fail_window).to_timedelta()
            if shortest <= timedelta(seconds=self.event_interval_seconds):
                raise dg.DagsterInvalidDefinitionError(
                    f"freshness_policy has a window of {shortest.total_seconds() / 60:g} minutes, but the polling "
                    f"sensor reports moved records every {self.event_interval_seconds / 60:g} minutes: give "
                    "event_interval_seconds a value below the window"
                )
        return policy
