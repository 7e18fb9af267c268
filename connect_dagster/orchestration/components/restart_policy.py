"""Restarts of FAILED connectors and tasks in YAML: how many, and with which delays."""

from typing import Annotated, Self, TypeAlias

import dagster as dg
from pydantic import BaseModel, Field, model_validator

from connect_dagster.orchestration.sensors.attempts import AttemptPolicy, BackOff
from connect_dagster.orchestration.sensors.connector import RESTARTS


class RestartPolicy(dg.Model, dg.Resolvable):
    """Number of restarts in a row, and the delays between them."""

    max_restarts: int = Field(default=5, description="Restarts in a row, before the sensor gives up.")
    delay_seconds: float = Field(
        default=RESTARTS.base, description="Seconds before the second restart; doubled before each further one."
    )
    max_delay_seconds: float = Field(default=RESTARTS.cap, description="Bound of that delay, in seconds.")
    reset_after_seconds: float = Field(
        default=RESTARTS.settled, description="Seconds without a failure, after which restarts are counted from 0."
    )

    # Not as bounds of the fields, which refuse templates.
    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        for name, least in (("max_restarts", 1), ("delay_seconds", 0), ("reset_after_seconds", 0)):
            if (value := getattr(self, name)) < least:
                raise ValueError(f"{name} must be {least} or more, but is {value:g}")
        if self.max_delay_seconds < self.delay_seconds:
            raise ValueError(
                f"max_delay_seconds must be delay_seconds ({self.delay_seconds:g}) or more, but is "
                f"{self.max_delay_seconds:g}"
            )
        return self

    def attempts(self) -> AttemptPolicy:
        """Return the policy of the sensors."""
        back_off = BackOff(self.delay_seconds, self.max_delay_seconds, self.reset_after_seconds)
        return AttemptPolicy(self.max_restarts, back_off)


def _resolve(context: dg.ResolutionContext, given: bool | str | BaseModel) -> bool | RestartPolicy:
    if isinstance(given, BaseModel):
        policy: RestartPolicy = RestartPolicy.resolve_from_model(context, given)
        return policy
    if isinstance(given, bool):
        return given
    keys = ", ".join(RestartPolicy.model_fields)
    raise dg.DagsterInvalidDefinitionError(f"auto_restart must be true, false, or have keys {keys}, but is '{given}'")


ResolvedRestartPolicy: TypeAlias = Annotated[
    bool | RestartPolicy, dg.Resolver(_resolve, model_field_type=bool | RestartPolicy.model() | str)
]
"""A policy, or true for the default one, or false for none."""


def policy_of(auto_restart: bool | RestartPolicy) -> RestartPolicy | None:
    """Return the policy of an attribute ``auto_restart``; None where it is false."""
    if isinstance(auto_restart, bool):
        return RestartPolicy() if auto_restart else None
    return auto_restart
