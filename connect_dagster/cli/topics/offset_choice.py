"""Offsets as a user lists them on the command line: ``3,7-9,20-``. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import click


@dataclass(frozen=True, slots=True)
class Offsets:
    """Chosen offsets: ranges with both ends, the last one ``None`` for no end.

    Examples:
        >>> 8 in Offsets(((3, 3), (7, 9))), 21 in Offsets(((20, None),)), 4 in Offsets(((3, 3),))
        (True, True, False)
    """

    ranges: tuple[tuple[int, int | None], ...]

    def __contains__(self, offset: int) -> bool:
        return any(first <= offset and (last is None or offset <= last) for first, last in self.ranges)


class _OffsetsType(click.ParamType[Offsets]):
    name = "offsets"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Offsets:
        if isinstance(value, Offsets):
            return value
        try:
            return Offsets(tuple(_range(part.strip()) for part in str(value).split(",")))
        except ValueError:
            self.fail(f"{value!r} is not a list of offsets such as 3,7-9,20-", param, ctx)


OFFSETS = _OffsetsType()


def _range(text: str) -> tuple[int, int | None]:
    first, dash, last = text.partition("-")
    begin = int(first)
    end = int(last) if last else None if dash else begin
    if end is not None and end < begin:
        raise ValueError(text)
    return begin, end
