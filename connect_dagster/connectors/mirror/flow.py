"""A flow: one ordered pair of clusters (Java: ``SourceAndTarget``)."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

ARROW = "->"


@dataclass(frozen=True, slots=True, order=True)
class Flow:
    """The direction from one cluster to another, by their aliases."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}{ARROW}{self.target}"

    @property
    def prefix(self) -> str:
        """Return the prefix of the flow's own properties in mm2.properties."""
        return f"{self}."

    @property
    def back(self) -> Flow:
        """Return the flow in the other direction."""
        return Flow(self.target, self.source)

    @property
    def rest_namespace(self) -> str:
        """Return the beginning of the flow's paths in the internal REST API (Java: ``MirrorMaker.encodePath``)."""
        return f"{_path_part(self.source)}/{_path_part(self.target)}"


def _path_part(alias: str) -> str:
    # Java's URLEncoder keeps * and encodes ~; a blank is %20, because servers do not decode + in paths.
    return quote(alias, safe="*").replace("~", "%7E")
