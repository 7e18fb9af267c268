"""Frames inside a worker: those of the plugin API, with the state that the worker keeps for each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Self, cast

from pyspark.sql import DataFrame

from connect_dagster.plugin.frames import Frame, SinkFrame, SourceFrame
from connect_dagster.plugin.header_converter import HeaderConverter


@dataclass(frozen=True, slots=True)
class Acting:
    """The plugin that handles a frame now, as reports of failed records name it.

    Attributes:
        stage: Kafka Connect's stage, such as ``TRANSFORMATION`` (Java: ``Stage``).
        executor: class of the plugin.
    """

    stage: str
    executor: str


_NO_PLUGIN = Acting("TASK_POLL", "")


@dataclass(frozen=True, slots=True)
class WorkerSourceFrame(SourceFrame):
    """A source frame on its way through a worker.

    Attributes:
        header_converter: of the connector.
        filtered: whether ``df`` lacks records that the frame had before, or has others.
        acting: the plugin that handles the frame now.
    """

    header_converter: HeaderConverter | None = None
    filtered: bool = False
    acting: Acting = _NO_PLUGIN

    @property
    def stage(self) -> tuple[str, str]:
        """Return stage and class of the acting plugin."""
        return self.acting.stage, self.acting.executor

    def with_rows(self, df: DataFrame) -> Self:
        """Return the frame with other records, marked as filtered."""
        return self._with(df=df, filtered=True)


@dataclass(frozen=True, slots=True)
class WorkerSinkFrame(SinkFrame):
    """A sink frame on its way through a worker; attributes as of ``WorkerSourceFrame``."""

    header_converter: HeaderConverter | None = None
    filtered: bool = False
    acting: Acting = _NO_PLUGIN

    @property
    def stage(self) -> tuple[str, str]:
        """Return stage and class of the acting plugin."""
        return self.acting.stage, self.acting.executor

    def with_rows(self, df: DataFrame) -> Self:
        """Return the frame with other records, marked as filtered."""
        return self._with(df=df, filtered=True)


def in_worker(frame: Frame, **changes: Any) -> Frame:
    """Return the frame with changes of the worker's state; of a frame that a plugin has made, a worker's frame."""
    if isinstance(frame, WorkerSourceFrame | WorkerSinkFrame):
        return cast("Frame", dataclasses.replace(cast("WorkerSourceFrame", frame), **changes))
    kind = WorkerSourceFrame if isinstance(frame, SourceFrame) else WorkerSinkFrame
    made = cast("SourceFrame", frame)
    fields = {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}
    return cast("Frame", kind(**{**fields, **changes}))


def is_filtered(frame: Frame) -> bool:
    """Return whether records were left out of the frame."""
    return isinstance(frame, WorkerSourceFrame | WorkerSinkFrame) and frame.filtered
