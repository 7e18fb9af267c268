"""Apply a declared connector: validate, compare, change the keys that differ, reach the state.

Doing it twice does nothing the second time. :func:`plan` only looks, which is the dry run; :func:`carry_out` acts.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import dagster as dg

from connect_dagster.client.config_diff import ConfigDiff
from connect_dagster.client.masking import mask_text
from connect_dagster.client.option_pages import refusal_text
from connect_dagster.client.rest_client import CONFLICT, KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import ConfigValidation, ConnectorStatus, State
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.plugin.connector_file import DesiredState


class InvalidConnectorError(dg.Failure):
    """A declared configuration that the worker refuses; the text ends with the pages that explain its options."""

    def __init__(self, spec: KafkaConnectConnectorSpec, errors: dict[str, tuple[str, ...]]) -> None:
        reasons = refusal_text(spec.connector_class, errors)
        super().__init__(f"The worker refuses the configuration of connector '{spec.name}': {reasons}")


class InvalidConnectorsError(dg.Failure):
    """Several declared connectors, some of which the worker refuses; none is changed.

    Attributes:
        sentences: The errors of each, and the consequence.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__(" ".join(sentences))
        self.sentences = tuple(sentences)


@dataclass(frozen=True, slots=True)
class ApplyPlan:
    """Changes that bring a connector of the cluster to its declaration.

    Attributes:
        spec: The declaration.
        diff: What changes in its configuration.
        state: Where the connector is now; None when the cluster does not have it.
        failed: Whether it, or a task of it, FAILED.
    """

    spec: KafkaConnectConnectorSpec
    diff: ConfigDiff
    state: State | None
    failed: bool = False

    @property
    def creates(self) -> bool:
        """Return True if the cluster does not have the connector yet."""
        return self.diff.live is None

    @property
    def changes_state(self) -> bool:
        """Return True if the target state changes. A FAILED connector or task is restarted instead."""
        settled = (None, State(self.spec.state.value), State.FAILED, State.UNASSIGNED, State.RESTARTING)
        return self.state not in settled

    @property
    def goal(self) -> DesiredState:
        """Return the final state of the connector."""
        return self.spec.state

    @property
    def restarts(self) -> bool:
        """Return True if FAILED parts are restarted."""
        return self.failed and self.goal is DesiredState.RUNNING

    @property
    def is_empty(self) -> bool:
        """Return True if the plan changes nothing."""
        return self.diff.is_empty and not self.changes_state and not self.restarts

    def lines(self) -> list[str]:
        """Return the plan as text: a heading, then the masked diff."""
        if self.is_empty:
            return [f"{self.spec.name}: no change"]
        steps = {
            "create": self.creates,
            "change": not self.creates and not self.diff.is_empty,
            f"go from {self.state} to {self.spec.state}": self.changes_state,
            "restart what FAILED": self.restarts,
        }
        heading = " and ".join(step for step, is_due in steps.items() if is_due)
        return [f"{self.spec.name}: {heading}", *(f"  {line}" for line in self.diff.lines())]


def plan(client: KafkaConnectClient, spec: KafkaConnectConnectorSpec) -> ApplyPlan:
    """Validate a declared connector on the worker, and compare it with the live one.

    Raises:
        InvalidConnectorError: The worker refuses the configuration; names each key and its error.
        KafkaConnectError: The request fails.
        Failure: An environment variable of the declaration is not set.
    """
    config = spec.resolved_config()
    validation = _validate(client, spec, config)
    live = client.info(spec.name)
    diff = ConfigDiff(
        None if live is None else _with_name(live.config, spec.name),
        config,
        validation.secret_keys() | spec.hidden_keys,
    )
    status = None if live is None else _status(client, spec.name)
    if status is None:
        return ApplyPlan(spec, diff, None)
    return ApplyPlan(spec, diff, status.connector.state, status.has_failed)


def plan_all(client: KafkaConnectClient, specs: Iterable[KafkaConnectConnectorSpec]) -> list[ApplyPlan]:
    """Return the plans of several connectors, see :func:`plan`.

    Raises:
        InvalidConnectorsError: Names every connector that the worker refuses, and why.
    """
    plans, refused = [], []
    for spec in specs:
        try:
            plans.append(plan(client, spec))
        except InvalidConnectorError as error:
            refused.append(str(error.description))
    if refused:
        raise InvalidConnectorsError([*refused, "Nothing was changed."])
    return plans


def carry_out(client: KafkaConnectClient, planned: ApplyPlan) -> None:
    """Send the requests of a plan; the worker carries them out later.

    Raises:
        KafkaConnectError: The request fails, or the worker refuses it.
    """
    name, config = planned.spec.name, planned.diff.declared
    if planned.creates and _created(client, planned):
        return
    if not planned.diff.is_empty:
        client.put_config(name, config)
    if planned.changes_state or planned.creates:
        client.set_target_state(name, planned.spec.state)
    if planned.restarts:
        client.restart(name, only_failed=True)


def _created(client: KafkaConnectClient, planned: ApplyPlan) -> bool:
    """Create the connector; return False when it was created meanwhile."""
    try:
        client.create(planned.diff.declared, planned.spec.state.value)
    except KafkaConnectError as error:
        if error.status == CONFLICT:
            return False
        raise
    return True


def _validate(
    client: KafkaConnectClient, spec: KafkaConnectConnectorSpec, config: dict[str, str | None]
) -> ConfigValidation:
    try:
        validation = client.validate(config)
    except KafkaConnectError as error:
        # For an unknown class the worker returns an error instead of a list: ours 404, Java's 500.
        if error.status in (400, 404, 500):
            message = mask_text(str(error), [config], spec.hidden_keys)
            raise InvalidConnectorError(spec, {"connector.class": (message,)}) from None
        raise
    if errors := validation.errors():
        secret_keys = validation.secret_keys() | spec.hidden_keys
        shown = {
            key: tuple(mask_text(one, [config], secret_keys) for one in sentences) for key, sentences in errors.items()
        }
        raise InvalidConnectorError(spec, shown)
    return validation


def _with_name(config: dict[str, str | None], name: str) -> dict[str, str | None]:
    return config | {"name": name}


def _status(client: KafkaConnectClient, name: str) -> ConnectorStatus | None:
    try:
        return client.status(name)
    except KafkaConnectError as error:
        if error.status == 404:
            return None
        raise
