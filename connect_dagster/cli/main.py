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
        lazy: by the name of a command, its module below ``connect_dagster.cli`` and its summary; the module has
            it as ``<name>_command``, with underscores for dashes.
        attrs: as for any group.
    """

    def __init__(self, *, lazy: Mapping[str, tuple[str, str]], **attrs: Any) -> None:
        super().__init__(**attrs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names, sorted."""
        return sorted(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of a name; None when there is none."""
        if cmd_name not in self.lazy:
            return None
        module = import_module(f"{_CLI}.{self.lazy[cmd_name][0]}")
        command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summaries, without an import of the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy[name][1]) for name in self.list_commands(ctx)])


@click.group(
    cls=LazyGroup,
    lazy={
        "apply": ("connectors.declared", "Apply declared connectors."),
        "completion": ("connectors.shell_completion", "Print the script that has a shell complete words."),
        "context": ("contexts.context", "Name clusters, and choose the one that commands ask."),
        "create": ("connectors.create", "Write the file of a new connector."),
        "delete": ("connectors.verbs", "Delete connectors; their offsets stay."),
        "describe": (
            "connectors.details",
            "Print a connector: states, configuration without secrets, topics, offsets.",
        ),
        "diff": ("connectors.declared", "Print what apply would change, secrets masked."),
        "dlq": ("topics.dead_letters", "List and replay dead letters."),
        "group": ("topics.group", "Describe groups of workers and consumers."),
        "history": ("connectors.history", "Print the configurations that a connector has had, and their differences."),
        "info": ("connectors.details", "Print version, cluster and health of a worker."),
        "list": ("connectors.verbs", "Print the connectors of the cluster."),
        "loggers": ("connectors.loggers", "Show and set the levels of loggers."),
        "mirror": ("mirror.mirror", "Show flows of MirrorMaker, translate offsets."),
        "offsets": ("connectors.offsets", "Show and change the offsets of a connector."),
        "patch": ("connectors.patching", "Change keys of a configuration; the others stay."),
        "pause": ("connectors.verbs", "Pause connectors."),
        "plugin": ("plugins.plugin", "List and describe plugins, or create a project for one."),
        "preview": (
            "connectors.preview",
            "Print the first records of a connector behind its transforms, and write nothing.",
        ),
        "reset-topics": (
            "connectors.details",
            "Forget the topics that a connector has used; those that it still uses come back.",
        ),
        "restart": ("connectors.verbs", "Restart FAILED connectors and tasks."),
        "resume": ("connectors.verbs", "Resume paused or stopped connectors."),
        "rollback": ("connectors.history", "Give a connector an earlier configuration."),
        "status": ("connectors.verbs", "Print the states of connectors."),
        "stop": ("connectors.verbs", "Stop connectors and end their tasks."),
        "topic": ("topics.topic", "List topics, read records, write records."),
        "typed-resource": ("connectors.typed_resource", "Print a Dagster resource for PLUGIN."),
        "validate": ("connectors.declared", "Validate declared connectors on the worker."),
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)
def main() -> None:
    """Operate connectors, and read and write topics."""


if __name__ == "__main__":
    main()
