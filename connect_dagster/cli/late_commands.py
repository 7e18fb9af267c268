"""Commands that are imported when they are called: each loads libraries of its own, Dagster takes a second."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LateCommands(click.Group):
    """A group some of whose commands are known by name and module alone.

    Args:
        modules: by the command's name, the module that has it, as ``<name>_command``, underscores for dashes.
        attrs: as for any group.
    """

    def __init__(self, *, modules: Mapping[str, str], **attrs: Any) -> None:
        super().__init__(**attrs)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, sorted."""
        return sorted([*super().list_commands(ctx), *self._modules])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        if cmd_name in self._modules:
            command = getattr(import_module(self._modules[cmd_name]), f"{cmd_name.replace('-', '_')}_command")
            assert isinstance(command, click.Command)
            return command
        return super().get_command(ctx, cmd_name)
