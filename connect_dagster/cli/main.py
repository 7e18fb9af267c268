"""``connect-dagster``: what Kafka Connect has no command for. Each subject is a group of commands of its own."""

from __future__ import annotations

import click

from connect_dagster.cli.late_commands import LateCommands

CONNECTORS, DECLARED, OFFSETS = (
    f"connect_dagster.cli.{module}" for module in ("connectors.verbs", "connectors.declared", "connectors.offsets")
)


@click.group(
    cls=LateCommands,
    modules={
        "list": CONNECTORS,
        "status": CONNECTORS,
        "pause": CONNECTORS,
        "resume": CONNECTORS,
        "stop": CONNECTORS,
        "restart": CONNECTORS,
        "delete": CONNECTORS,
        "diff": DECLARED,
        "dlq": "connect_dagster.cli.topics.dead_letters",
        "apply": DECLARED,
        "group": "connect_dagster.cli.topics.group",
        "offsets": OFFSETS,
        "plugin": "connect_dagster.cli.plugins.plugin",
        "topic": "connect_dagster.cli.topics.topic",
        "typed-resource": "connect_dagster.cli.connectors.typed_resource",
    },
    context_settings={"help_option_names": ["-h", "--help"]},
)
def main() -> None:
    """Operate connectors, and look into what they read and write."""


if __name__ == "__main__":
    main()
