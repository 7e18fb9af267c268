"""The option ``allowed.paths`` of providers that read files (Java: ``AllowedPaths``; KIP-993)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import ConfigDef, Importance, config_key


def _absolute_and_there(name: str, value: Any) -> None:
    for path in value:
        if not Path(path).is_absolute():
            raise ConfigError.invalid(name, value, f"Path {path} is not absolute")
        if not Path(path).exists():
            raise ConfigError.invalid(name, value, f"Path {path} does not exist")


class AllowedPathsConfig(ConfigDef):
    """Options of a provider that reads files."""

    allowed_paths: tuple[str, ...] = config_key(
        "allowed.paths",
        default=(),
        importance=Importance.LOW,
        validator=_absolute_and_there,
        doc="Files and folders that may be read, with all below them; all may be when there are none.",
    )

    def allowed(self, path: str) -> Path | None:
        """Return the path without ``..``, if it may be read; symbolic links are not followed for this check."""
        if not self.allowed_paths:
            return Path(path)
        wanted = _normal(path)
        return wanted if any(wanted.is_relative_to(_normal(one)) for one in self.allowed_paths) else None


def _normal(path: str) -> Path:
    # Python keeps two leading slashes apart from one, as POSIX lets it; Linux and Java do not.
    return Path(os.path.normpath(f"/{path.lstrip('/')}" if path.startswith("/") else path))
