"""Freshness policies in YAML, of the data that connectors write."""

from datetime import timedelta
from typing import Annotated, TypeAlias

import dagster as dg
from dagster_shared.check import CheckError
from pydantic import BaseModel, Field, InstanceOf


class FreshnessWindow(dg.Model, dg.Resolvable):
    """Data is fresh for a time after records have moved."""

    fail_window_minutes: float = Field(description="Minutes without a moved record, after which the data is not fresh.")
    warn_window_minutes: float | None = Field(
        default=None, description="Minutes after which Dagster warns; fewer than those of the failure."
    )


class FreshnessDeadline(dg.Model, dg.Resolvable):
    """Data is fresh when records have moved before each deadline."""

    deadline_cron: str = Field(description="Deadlines as a cron expression, such as `0 6 * * *`.")
    lower_bound_delta_minutes: float = Field(
        description="Minutes before a deadline, within which records have to move."
    )
    timezone: str = Field(default="UTC", description="Time zone of the deadlines, such as `Europe/Berlin`.")


def _resolve(context: dg.ResolutionContext, given: BaseModel) -> dg.FreshnessPolicy:
    try:
        if isinstance(given, FreshnessDeadline.model()):
            deadline = FreshnessDeadline.resolve_from_model(context, given)
            bound = timedelta(minutes=deadline.lower_bound_delta_minutes)
            return dg.FreshnessPolicy.cron(deadline.deadline_cron, bound, deadline.timezone)
        window = FreshnessWindow.resolve_from_model(context, given)
        warn = window.warn_window_minutes
        return dg.FreshnessPolicy.time_window(
            timedelta(minutes=window.fail_window_minutes), None if warn is None else timedelta(minutes=warn)
        )
    except CheckError as error:
        raise dg.DagsterInvalidDefinitionError(f"freshness_policy: {error}") from None


ResolvedFreshnessPolicy: TypeAlias = Annotated[
    InstanceOf[dg.FreshnessPolicy] | None,
    dg.Resolver(_resolve, model_field_type=FreshnessWindow.model() | FreshnessDeadline.model() | None),
]
