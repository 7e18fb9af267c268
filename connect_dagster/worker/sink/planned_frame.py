"""Frames whose DataFrame is made when it is asked for, as what their task selects may be evaluated by a kept plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import pyarrow as pa
from pyspark.sql import Column, DataFrame

from connect_dagster.worker.frames import WorkerSinkFrame

Plan = Callable[[DataFrame], DataFrame]
"""Makes the columns of a frame of those of Spark's Kafka source."""


class Planned(Protocol):
    """Records under a plan."""

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the columns that the plan makes."""

    @property
    def count(self) -> int | None:
        """Return the number of records; ``None`` where it is not known before the plan runs."""

    def df(self) -> DataFrame:
        """Return the records as a DataFrame."""

    def select(self, columns: Sequence[Column | str]) -> pa.Table | None:
        """Return columns of the records; ``None`` where the DataFrame has to be selected from."""


@dataclass(frozen=True, slots=True)
class PlannedFrame(WorkerSinkFrame):
    """A sink frame under a plan; its copies with other columns or rows are frames as others.

    Make one with :meth:`of`, without a DataFrame.
    """

    _planned: Planned | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, planned: Planned, **others: Any) -> Self:
        """Return the frame of records.

        Args:
            planned: the records.
            others: the fields of the frame except ``df``.
        """
        frame = cls(df=None, **others)  # type: ignore[arg-type]
        object.__delattr__(frame, "df")
        object.__setattr__(frame, "_planned", planned)
        return frame

    def __getattr__(self, name: str) -> Any:
        """Make the DataFrame when it is asked for."""
        if name != "df" or self._planned is None:
            raise AttributeError(name)
        df = self._planned.df()
        object.__setattr__(self, "df", df)
        return df

    @property
    def count(self) -> int:
        """Return the number of records."""
        known = None if self._planned is None else self._planned.count
        return self.df.count() if known is None else known

    def has(self, name: str) -> bool:
        """Return whether ``df`` has this column."""
        return WorkerSinkFrame.has(self, name) if self._planned is None else name in self._planned.names

    def to_arrow(self, *columns: Column | str) -> pa.Table:
        """Return columns of the records, evaluated by a kept plan where that is possible."""
        made = None if self._planned is None else self._planned.select(columns or ("*",))
        return WorkerSinkFrame.to_arrow(self, *columns) if made is None else made


def identities(columns: Sequence[Column | str]) -> tuple[object, ...]:
    """Return a key of columns: equal where the same ones are selected again, while the first ones are kept."""
    return tuple(one if isinstance(one, str) else id(one) for one in columns)
