"""Links from assets to the code and the files that define them, which Dagster's pages show.

Dagster adds those to a component's YAML by itself. Assets of data have none: definitions that name a table twice give
equal assets, which Dagster takes for one.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import dagster as dg

from connect_dagster.orchestration._compat import disable_dagster_warnings, merge_code_references

_OWN, _DAGSTER = __name__.partition(".")[0], dg.__name__


@dataclass(frozen=True, slots=True)
class SourceCode:
    """A file, or a line of one.

    Attributes:
        path: The file.
        line: Number of the line; None for the whole file.
    """

    path: Path
    line: int | None = None


def calling_code() -> SourceCode | None:
    """Return the line that calls this package; None where Dagster does, or where it is in no file, as in a shell."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and _package(frame) == _OWN:
        frame = frame.f_back
    if frame is None or _package(frame) == _DAGSTER:
        return None
    path = Path(frame.f_code.co_filename)
    return SourceCode(path.absolute(), frame.f_lineno) if path.is_file() else None


def linked(spec: dg.AssetSpec, sources: Iterable[SourceCode | None]) -> dg.AssetSpec:
    """Return an asset with links to what defines it; None among the sources is left out."""
    # Its classes warn that they are new.
    with disable_dagster_warnings():
        links = [
            dg.LocalFileCodeReference(file_path=str(source.path), line_number=source.line)
            for source in sources
            if source is not None
        ]
        return merge_code_references(spec, links) if links else spec


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
