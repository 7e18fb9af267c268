"""Applies the transformation chain of a connector (``transforms=a,b`` and ``transforms.a.type=…``).

Java: ``ConnectorConfig.transformationStages`` and ``TransformationStage``. Sources apply the chain
before their converters, sinks after them.

A frame has one schema, so a transform that a predicate restricts may split it: into the records it changed and the
others. Where both have the same schemas, they stay one frame.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError
from connect_dagster.isolation.plugin_source import class_name
from connect_dagster.plugin.config import Type, parse_value
from connect_dagster.plugin.converter import Predicate, Transform
from connect_dagster.plugin.frame_columns import FAILURE, ROW
from connect_dagster.plugin.frames import Frame, RecordFrame, SourceFrame
from connect_dagster.worker.config.connector import ConnectorConfig
from connect_dagster.worker.frames import Acting, in_worker, is_filtered

if TYPE_CHECKING:  # imports every bundled plugin
    from connect_dagster.isolation.plugins import Plugins

log = logging.getLogger(__name__)

TRANSFORMATION = "TRANSFORMATION"

_TYPE, _VERSION, _PREDICATE, _NEGATE = "type", "plugin.version", "predicate", "negate"
_BEFORE, _HOLDS = "__before", "__holds"


@dataclass(frozen=True, slots=True)
class TransformationStage:
    """One transform of a chain, with the records it is applied to (Java: ``TransformationStage``).

    Attributes:
        alias: its name in the connector's configuration.
        transform: changes the records.
        predicate: selects the records; ``None`` for all.
        negate: selects the records for which the predicate is false.
        predicate_alias: the predicate's name in the connector's configuration.
    """

    alias: str
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False
    predicate_alias: str = ""

    @property
    def deterministic(self) -> bool:
        """Return whether equal columns, topic and schemas give equal expressions."""
        return self.transform.deterministic and (self.predicate is None or self.predicate.deterministic)

    def apply(self, frame: Frame) -> list[Frame]:
        """Return the frame after the transform; several parts where records have other schemas than others."""
        holds = None if self.predicate is None else self.predicate.matches_all(frame)
        if holds is not None and holds is self.negate:
            return [frame]
        condition = self.condition(frame) if holds is None else None
        if condition is None:
            return list(self.transform.apply_split(frame))
        return _applied_where(self.transform, condition, frame)

    def condition(self, frame: RecordFrame) -> Column | None:
        """Return a column that is true for the records it is applied to; ``None`` for all."""
        if self.predicate is None:
            return None
        holds = self.predicate.test(frame)
        return ~holds if self.negate else holds


TransformationChain = Sequence[TransformationStage]
"""Stages in the order in which they are applied."""


def is_deterministic(chain: TransformationChain) -> bool:
    """Return whether equal columns, topic and schemas give equal expressions in all stages."""
    return all(stage.deterministic for stage in chain)


class ApplyStage(Protocol):
    """``TransformationStage.apply``, or a function that calls it under an error policy."""

    def __call__(self, stage: TransformationStage, frame: Frame, /) -> list[Frame]:
        """Return the frame after the stage."""


class TransformFactory:
    """Makes configured chains.

    Args:
        plugins: all plugins.
    """

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    def chain(self, task: str, config: ConnectorConfig) -> TransformationChain:
        """Return the transformation chain of a connector's task.

        Raises:
            ConnectError: a class cannot be loaded.
            ConfigError: a type is missing, an option is wrong, or a predicate is not defined.
        """
        predicates: dict[str, Predicate] = {}
        chain = tuple(self._stage(alias, config, predicates) for alias in config.transforms)
        if chain:
            names = ", ".join(class_name(type(one.transform)) for one in chain)
            log.info("Initializing: transformation chain {%s} for task %s", names, task)
        return chain

    def _stage(self, alias: str, config: ConnectorConfig, predicates: dict[str, Predicate]) -> TransformationStage:
        options = config.with_prefix(f"transforms.{alias}.")
        predicate = options.pop(_PREDICATE, None)
        negate = parse_value(f"transforms.{alias}.{_NEGATE}", options.pop(_NEGATE, "false"), Type.BOOLEAN)
        version = options.pop(_VERSION, None)
        type_ = _type_of(f"transforms.{alias}.", options)
        if predicate is not None and predicate not in predicates:
            predicates[predicate] = self._predicate(predicate, config)
        restricted = None if predicate is None else predicates[predicate]
        transform = self._plugins.transformation(type_, version).plugin()
        transform.configure(options)
        return TransformationStage(alias, transform, restricted, negate, predicate or "")

    def _predicate(self, alias: str, config: ConnectorConfig) -> Predicate:
        options = config.with_prefix(f"predicates.{alias}.")
        version = options.pop(_VERSION, None)
        predicate = self._plugins.predicate(_type_of(f"predicates.{alias}.", options), version).plugin()
        predicate.configure(options)
        return predicate


def apply_chain(
    chain: TransformationChain, frame: Frame, apply_stage: ApplyStage = TransformationStage.apply
) -> list[Frame]:
    """Return the frame after all stages; several when schemas differ, with a column ``ROW`` for their order."""
    frames = [frame]
    for stage in chain:
        acting = Acting(TRANSFORMATION, class_name(type(stage.transform)))
        frames = [changed for one in frames for changed in apply_stage(stage, in_worker(one, acting=acting))]
    return frames


def close_chain(chain: TransformationChain) -> None:
    """Close transforms and their predicates, each once; what they raise is logged (Java: ``Utils.closeQuietly``)."""
    closed: list[Predicate] = []
    for stage in chain:
        _close_quietly(stage.transform, "transformation")
        if stage.predicate is not None and not any(stage.predicate is one for one in closed):
            closed.append(stage.predicate)
            _close_quietly(stage.predicate, "predicate")


def _close_quietly(plugin: Transform | Predicate, name: str) -> None:
    try:
        plugin.close()
    except Exception:
        log.warning("Failed to close %s with type %s", name, class_name(type(plugin)), exc_info=True)


def _applied_where(transform: Transform, condition: Column, frame: Frame) -> list[Frame]:
    condition = F.coalesce(condition, F.lit(False))
    if frame.has(FAILURE):  # failed records stay unchanged
        condition &= F.col(FAILURE).isNull()
    if transform.drops:
        return [frame.where(~condition)]
    before = {_BEFORE: F.struct("*"), _HOLDS: condition}
    changed = transform.apply_split(in_worker(frame, df=frame.df.withColumns(before), filtered=False))
    if len(changed) == 1 and _is_alike(changed[0], frame):
        return [in_worker(_chosen(changed[0], frame), filtered=is_filtered(frame))]
    ordered = frame if frame.has(ROW) else frame.with_column(ROW, F.monotonically_increasing_id())
    reached = in_worker(ordered, df=ordered.df.where(condition), filtered=True)
    return [*transform.apply_split(reached), ordered.where(~condition)]


def _is_alike(after: Frame, before: Frame) -> bool:
    same_schemas = (after.key_schema, after.value_schema) == (before.key_schema, before.value_schema)
    return same_schemas and not is_filtered(after) and after.has(_BEFORE) and after.has(_HOLDS)


def _chosen(after: Frame, before: Frame) -> Frame:
    """Return for each record the columns after the transform where the condition is true, else those before it."""
    if isinstance(after, SourceFrame) and after.topic is not None and after.topic != cast("SourceFrame", before).topic:
        after = after.with_column("topic", F.lit(after.topic))  # no longer one topic
    names = [name for name in after.df.columns if name not in (_BEFORE, _HOLDS)]

    def earlier(name: str) -> Column:
        return F.col(_BEFORE)[name] if before.has(name) else before.column(name)

    columns = [F.when(F.col(_HOLDS), F.col(name)).otherwise(earlier(name)).alias(name) for name in names]
    return _with(after, df=after.df.select(*columns))


def _with(frame: Frame, **changes: Any) -> Frame:
    return cast("Frame", replace(cast("SourceFrame", frame), **changes))


def _type_of(prefix: str, options: dict[str, str]) -> str:
    if not options.get(_TYPE):
        raise ConfigError.missing(prefix + _TYPE)
    return options.pop(_TYPE)
