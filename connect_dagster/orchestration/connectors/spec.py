"""Declarations of connectors, made in Python, YAML or files."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import dagster as dg

from connect_dagster.client.masking import MASK
from connect_dagster.orchestration.failures import unset_variables
from connect_dagster.plugin.connector_file import DesiredState, read_connector_file

ConfigValue = str | int | float | bool | dg.EnvVar | None


@dataclass(frozen=True, slots=True)
class KafkaConnectConnectorSpec:
    """A declared connector.

    Attributes:
        name: Name of the connector.
        connector_class: Its plugin, as ``connector.class`` takes it.
        config: Its configuration, without name, class and number of tasks. An ``EnvVar`` stays unresolved until the
            configuration goes to the worker.
        tasks_max: Upper bound for the number of its tasks.
        state: Its declared state.
        secret_keys: Further keys whose values definitions do not show; keys with a secret name are always masked.
        source_file: File that declares it; None for code and YAML.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectConnectorSpec

            KafkaConnectConnectorSpec(
                "mysql-products",
                "io.confluent.connect.jdbc.JdbcSourceConnector",
                {"connection.password": dg.EnvVar("PRODUCTS_PASSWORD"), "mode": "bulk", "topic.prefix": "mysql-"},
            )
    """

    name: str
    connector_class: str
    config: Mapping[str, ConfigValue] = field(default_factory=dict)
    tasks_max: int = 1
    state: DesiredState = DesiredState.RUNNING
    secret_keys: frozenset[str] = frozenset()
    source_file: Path | None = field(default=None, compare=False)

    @classmethod
    def from_config(
        cls, config: Mapping[str, ConfigValue], state: DesiredState = DesiredState.RUNNING
    ) -> "KafkaConnectConnectorSpec":
        """Create a declaration from a whole configuration with ``name`` and ``connector.class``.

        Raises:
            DagsterInvalidDefinitionError: One of the two is missing, or ``tasks.max`` is not a number.
        """
        rest = dict(config)
        missing = [key for key in ("name", "connector.class") if not rest.get(key)]
        if missing:
            raise dg.DagsterInvalidDefinitionError(
                f"The connector configuration with the keys {sorted(config)} has no value for {' and '.join(missing)}"
            )
        name, plugin = str(rest.pop("name")), str(rest.pop("connector.class"))
        tasks = str(rest.pop("tasks.max", 1))
        if not tasks.isdecimal():
            raise dg.DagsterInvalidDefinitionError(
                f"tasks.max of connector '{name}' must be a number, but is '{tasks}'"
            )
        return cls(name, plugin, rest, int(tasks), state)

    @classmethod
    def from_file(cls, path: str | Path) -> "KafkaConnectConnectorSpec":
        """Create a declaration from a file of ``connect-standalone``: properties or JSON.

        Raises:
            ConfigError: The file cannot be read or is malformed; names file and place.
            ConnectError: It has no name, or two.
        """
        file = read_connector_file(path)
        spec = cls.from_config(file.config, file.initial_state or DesiredState.RUNNING)
        return replace(spec, source_file=Path(path).absolute())

    @property
    def hidden_keys(self) -> frozenset[str]:
        """Return the keys whose resolved values are never shown: secret keys, and keys with an ``EnvVar``."""
        return self.secret_keys | {key for key, value in self.config.items() if isinstance(value, dg.EnvVar)}

    def declared_config(self) -> dict[str, str | None]:
        """Return the whole configuration as text for definitions, with placeholders for each ``EnvVar``."""
        shown = self._whole(lambda variable: f"${{env:{variable.env_var_name}}}")
        literal = {key for key in self.secret_keys if not isinstance(self.config.get(key), dg.EnvVar)}
        return {key: MASK if key in literal and value is not None else value for key, value in shown.items()}

    def resolved_config(self) -> dict[str, str | None]:
        """Return the whole configuration for the worker.

        Raises:
            Failure: An environment variable is not set; names it and the key.
        """
        if unset := unset_variables(self.config):
            raise dg.Failure(
                f"Connector '{self.name}' needs environment variables that are not set: {', '.join(unset)}"
            )
        return self._whole(lambda variable: os.environ[variable.env_var_name])

    def _whole(self, text_of: Callable[[dg.EnvVar], str]) -> dict[str, str | None]:
        own = {"name": self.name, "connector.class": self.connector_class, "tasks.max": str(self.tasks_max)}
        return own | {key: _text(value, text_of) for key, value in self.config.items()}


def _text(value: ConfigValue, text_of: Callable[[dg.EnvVar], str]) -> str | None:
    match value:
        case dg.EnvVar():
            return text_of(value)
        case bool():
            return str(value).lower()
        case None:
            return None
        case _:
            return str(value)
