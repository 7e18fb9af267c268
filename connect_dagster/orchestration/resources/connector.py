"""A connector as a Dagster resource: its declaration, and every operation on it.

Each verb waits for its effect, within the workspace's ``poll_timeout``. They work in runs, where Dagster has resolved
the fields, and in scripts and notebooks, where a verb resolves an ``EnvVar`` when it needs it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import dagster as dg
from pydantic import Field
from pydantic.fields import FieldInfo

from connect_dagster.client.offsets_change import Modify, OffsetsChange, change_offsets
from connect_dagster.client.operations import (
    Ask,
    StateNotReachedError,
    Wait,
    ask_and_await,
    delete_and_await,
    target_state_of,
)
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.client.types import ConnectorStatus, PartitionOffset
from connect_dagster.orchestration.connectors.apply import ApplyPlan, carry_out, plan
from connect_dagster.orchestration.connectors.spec import ConfigValue, KafkaConnectConnectorSpec
from connect_dagster.orchestration.secret_fields import SECRET, SECRET_URL, ResourceWithSecrets, is_marked
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.connector_file import DesiredState

# Marks the configuration key of a resource's field.
CONFIG_KEY = "connector_config_key"
CONNECTOR_CLASS_TEXT = "Its plugin, as `connector.class` takes it."


class ConnectorResource(ResourceWithSecrets):
    """A declared connector. Subclasses have a field for each key of their plugin.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster import ConnectorResource, KafkaConnectWorkspace

            products = ConnectorResource(
                workspace=KafkaConnectWorkspace(url="http://127.0.0.1:8083"),
                name="mysql-products",
                connector_class="io.confluent.connect.jdbc.JdbcSourceConnector",
                config={"connection.password": dg.EnvVar("PRODUCTS_PASSWORD"), "mode": "bulk"},
            )
    """

    workspace: KafkaConnectWorkspace = Field(description="The Connect cluster that runs it.")
    name: str = Field(description="Name of the connector, unique in the cluster.")
    connector_class: str = Field(description=CONNECTOR_CLASS_TEXT)
    # Its asset shows it with only the secrets masked.
    config: dict[str, str] = Field(
        default={},
        description="Its configuration, or the keys without a field.",
        json_schema_extra=SECRET,
    )
    tasks_max: int = Field(default=1, ge=1, description="Maximum number of the connector's tasks.")
    state: DesiredState = Field(default=DesiredState.RUNNING, description="Its declared state.")

    def spec(self) -> KafkaConnectConnectorSpec:
        """Return the declaration of the fields; an ``EnvVar`` stays unresolved in it.

        Raises:
            DagsterInvalidDefinitionError: A key is given twice, as a field and in ``config``.
        """
        typed = {key: value for key, field in config_fields(type(self)) if (value := getattr(self, field)) is not None}
        if twice := sorted(typed.keys() & self.config.keys()):
            raise dg.DagsterInvalidDefinitionError(
                f"Connector '{self.name}' has {', '.join(twice)} twice: as a field and in config"
            )
        values: dict[str, Any] = {**typed, **self.config}
        return KafkaConnectConnectorSpec(
            self.name,
            self.connector_class,
            {key: _config_value(value) for key, value in values.items()},
            self.tasks_max,
            self.state,
            secret_config_keys(type(self)),
        )

    def plan(self) -> ApplyPlan:
        """Return the plan of :meth:`apply`, without changes: the dry run.

        Raises:
            InvalidConnectorError: The worker refuses the configuration.
            KafkaConnectError: The request fails.
        """
        with self._operations() as connector:
            return plan(connector.client, self.spec())

    def apply(self) -> ApplyPlan:
        """Apply the connector as declared; a second call changes nothing.

        Returns:
            What was done.

        Raises:
            InvalidConnectorError: The worker refuses the configuration.
            KafkaConnectError: The request fails, or the worker refuses it.
            Failure: The connector did not get to its state in time, as one whose task FAILED again.
        """
        with self._operations() as connector:
            return connector.apply(self.spec())

    def start(self) -> ApplyPlan:
        """Apply the connector with the state RUNNING instead of the declared one."""
        with self._operations() as connector:
            return connector.apply(replace(self.spec(), state=DesiredState.RUNNING))

    def pause(self) -> None:
        """Pause the connector: its tasks stay, but move no records."""
        with self._operations() as connector:
            connector.go_to(DesiredState.PAUSED)

    def resume(self) -> None:
        """Resume a paused or stopped connector."""
        with self._operations() as connector:
            connector.go_to(DesiredState.RUNNING)

    def stop(self) -> None:
        """Stop the connector: its tasks end, its configuration and offsets stay."""
        with self._operations() as connector:
            connector.go_to(DesiredState.STOPPED)

    def restart(self, only_failed: bool = True) -> None:
        """Restart the FAILED parts, or the connector and all its tasks.

        Raises:
            Failure: It did not get back to its state in time.
        """
        with self._operations() as connector:
            connector.restart(only_failed=only_failed)

    def delete(self) -> None:
        """Delete the connector; its offsets stay.

        Raises:
            Failure: The worker still knew it after the bound.
        """
        with self._operations() as connector:
            connector.delete()

    def status(self) -> ConnectorStatus:
        """Return the states of the connector and of its tasks."""
        with self._operations() as connector:
            return connector.client.status(self.name)

    def offsets(self) -> list[PartitionOffset]:
        """Return the committed offsets of a source, or of a sink's consumer group."""
        with self._operations() as connector:
            return connector.client.offsets(self.name)

    def alter_offsets(self, offsets: Sequence[Mapping[str, Any]]) -> OffsetsChange:
        """Set offsets: stop the connector, change them, and return it to its former state.

        Args:
            offsets: Entries ``{"partition": …, "offset": …}``; an offset of None resets that partition.

        Returns:
            The offsets before and after.
        """
        with self._operations() as connector:
            return connector.change_offsets(lambda client, name: client.alter_offsets(name, offsets))

    def reset_offsets(self) -> OffsetsChange:
        """Reset all offsets: stop the connector, delete them, and return it to its former state.

        Returns:
            The offsets before and after.
        """
        with self._operations() as connector:
            return connector.change_offsets(KafkaConnectClient.reset_offsets)

    @contextmanager
    def _operations(self) -> Iterator["_Operations"]:
        with self.workspace.initialized() as ready:
            yield _Operations(self.name, ready, ready.get_client())


def config_fields(resource: type[ConnectorResource]) -> list[tuple[str, str]]:
    """Return the configuration keys that a resource has fields for, each with its field."""
    keys = ((_said(field).get(CONFIG_KEY), name) for name, field in resource.model_fields.items())
    return [(key, name) for key, name in keys if isinstance(key, str)]


def secret_config_keys(resource: type[ConnectorResource]) -> frozenset[str]:
    """Return the keys whose values a resource keeps secret; of URLs only the password is."""
    extras = {key: resource.model_fields[name].json_schema_extra for key, name in config_fields(resource)}
    return frozenset(
        key for key, extra in extras.items() if is_marked(extra, SECRET) and not is_marked(extra, SECRET_URL)
    )


def _said(field: FieldInfo) -> Mapping[str, Any]:
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


@dataclass(frozen=True, slots=True)
class _Operations:
    """Operations on one connector; each returns when its effect was seen."""

    name: str
    workspace: KafkaConnectWorkspace
    client: KafkaConnectClient

    def apply(self, spec: KafkaConnectConnectorSpec) -> ApplyPlan:
        planned = plan(self.client, spec)
        self._ask_and_await(planned.goal, lambda _: carry_out(self.client, planned))
        return planned

    def go_to(self, state: DesiredState) -> None:
        self._ask_and_await(state, lambda name: self.client.set_target_state(name, state))

    def restart(self, *, only_failed: bool) -> None:
        goal = target_state_of(self.client.status(self.name))
        self._ask_and_await(goal, lambda name: self.client.restart(name, only_failed=only_failed))

    def delete(self) -> None:
        outcome = delete_and_await(self.client, [self.name], self._wait)
        outcome.raise_refusal()
        if outcome.unreached:
            raise dg.Failure(f"Connector '{self.name}' is still there {self._wait.timeout:g} s after it was deleted")

    def change_offsets(self, modify: Modify) -> OffsetsChange:
        try:
            return change_offsets(self.client, self.name, modify, lambda before: before, self._wait)
        except StateNotReachedError as error:
            raise dg.Failure(str(error)) from None

    def _ask_and_await(self, state: DesiredState, ask: Ask) -> None:
        outcome = ask_and_await(self.client, {self.name: state}, ask, self._wait)
        outcome.raise_refusal()
        if outcome.unreached:
            missed = outcome.unreached[self.name]
            raise dg.Failure(f"Connector '{self.name}' did not reach {state} within {self._wait.timeout:g} s: {missed}")

    @property
    def _wait(self) -> Wait:
        return Wait(self.workspace.poll_timeout, self.workspace.poll_interval)


def _config_value(value: Any) -> ConfigValue:
    # EnvVar.int gives an int that knows its variable; a connector's configuration is text.
    if variable := getattr(value, "env_var_name", None):
        return dg.EnvVar(variable)
    return ",".join(value) if isinstance(value, list) else value
