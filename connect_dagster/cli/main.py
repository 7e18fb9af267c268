"""``connect-dagster``: operates connectors, and reads and writes topics. Each subject is a group of commands.

A command's module is imported when the command is called, so that help and argument errors come at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

_CLI = "connect_dagster.cli"


class LazyGroup(click.Group):
    """A group of commands that are imported when they are called.

    Args:
        modules: by the name of a command, its module below ``connect_dagster.cli``; there it is
            ``<name>_command``, with underscores for dashes.
        attrs: as for any group.
    """

    def __init__(self, *, modules: Mapping[str, str], **attrs: Any) -> None:
        super().__init__(**attrs)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, sorted."""
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of a name; None when there is none."""
        if cmd_name not in self._modules:
            return None
        module = import_module(f"{_CLI}.{self._modules[cmd_name]}")
        command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=LazyGroup,
    modules={
        **dict.fromkeys(("list", "status", "pause", "resume", "stop", "restart", "delete"), "connectors.verbs"),
        **dict.fromkeys(("diff", "apply"), "connectors.declared"),
        "offsets": "connectors.offsets",
        "typed-resource": "connectors.typed_resource",
        "dlq": "topics.dead_letters",
        "group": "topics.group",
        "topic": "topics.topic",
        "plugin": "plugins.plugin",
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)
def main() -> None:
    """Operate connectors, and look into what they read and write."""


if __name__ == "__main__":
    main()
