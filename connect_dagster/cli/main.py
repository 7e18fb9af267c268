"""``connect-dagster``: what Kafka Connect has no command for. Each subject is a group of commands of its own."""

from __future__ import annotations

import click

from connect_dagster.cli.topic import topic


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Look into what connectors read and write."""


main.add_command(topic)


if __name__ == "__main__":
    main()
