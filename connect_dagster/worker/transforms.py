"""The chain of transforms that a connector's records pass (``transforms=a,b`` and ``transforms.a.type=…``).

Java: ``ConnectorConfig.transformationStages``. Knows nothing of directions: sources apply the chain before their
converters, sinks after them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from connect_dagster.plugin.config import Type, parse_value
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.errors import ConfigError
from connect_dagster.plugin.frames import Frame
from connect_dagster.worker.plugins import Plugins

log = logging.getLogger(__name__)

_TYPE, _PREDICATE = "type", "predicate"


class TransformFactory:
    """Makes configured chains.

    Args:
        plugins: where the classes are found.
    """

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    def chain(self, task: str, connector: Mapping[str, str]) -> tuple[Transform, ...]:
        """The transforms of a connector's task, in their order.

        Raises:
            ConnectError: a class cannot be loaded.
            ConfigError: a type is missing, or an option is wrong.
        """
        aliases = parse_value("transforms", connector.get("transforms", ""), Type.LIST)
        chain = tuple(self._make(alias, connector) for alias in aliases)
        if chain:
            names = ", ".join(f"{type(one).__module__}.{type(one).__qualname__}" for one in chain)
            log.info("Initializing: transformation chain {%s} for task %s", names, task)
        return chain

    def _make(self, alias: str, connector: Mapping[str, str]) -> Transform:
        prefix = f"transforms.{alias}."
        options = {key.removeprefix(prefix): value for key, value in connector.items() if key.startswith(prefix)}
        if not options.get(_TYPE):
            raise ConfigError.missing(prefix + _TYPE)
        if _PREDICATE in options:
            raise ConfigError.invalid(prefix + _PREDICATE, options[_PREDICATE], "this worker has no predicates")
        transform = self._plugins.transformation(options.pop(_TYPE)).plugin()
        transform.configure(options)
        return transform


def applied(chain: Sequence[Transform], frame: Frame) -> Frame:
    """The frame after all transforms."""
    for transform in chain:
        frame = transform.apply(frame)
    return frame
