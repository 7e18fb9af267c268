"""Arguments of ``connect-mirror-maker`` (Java: ``MirrorMaker.main``), and those of MirrorMaker 1, which it refuses."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from connect_dagster.connectors.mirror.connector_classes import IDENTITY_REPLICATION_POLICY
from connect_dagster.errors import ConfigError

PROGRAM = "connect-mirror-maker"
# Java's usage has the file last, where --clusters would take it for an alias.
_USAGE = "%(prog)s [-h] mm2.properties [--clusters CLUSTER [CLUSTER ...]]"

_FIRST_MIRROR_MAKER = frozenset(
    {
        "--abort.on.send.failure",
        "--blacklist",
        "--consumer.config",
        "--consumer.rebalance.listener",
        "--include",
        "--message.handler",
        "--message.handler.args",
        "--new.consumer",
        "--num.streams",
        "--offset.commit.interval.ms",
        "--producer.config",
        "--rebalance.listener.args",
        "--whitelist",
    }
)


@dataclass(frozen=True, slots=True)
class Arguments:
    """A file and the aliases of ``--clusters``, none for all."""

    file: str
    targets: tuple[str, ...] = ()


def parse_arguments(words: Sequence[str]) -> Arguments:
    """Return the arguments of the command; ``--help`` prints a help text and exits.

    Raises:
        ConfigError: they are wrong; the text is the usage and the reason.
    """
    parser = _parser()
    old = sorted({word.partition("=")[0] for word in words} & _FIRST_MIRROR_MAKER)
    if old:
        parser.error(_first_mirror_maker(old))
    parsed = parser.parse_args(words)
    return Arguments(parsed.config, tuple(parsed.clusters))


class _Parser(argparse.ArgumentParser):
    """A parser that raises its errors."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{self.format_usage()}{self.prog}: error: {message}")


def _parser() -> _Parser:
    description = "Replicate topics, offsets of consumer groups and heartbeats between Kafka clusters."
    parser = _Parser(PROGRAM, _USAGE, description, allow_abbrev=False)
    parser.add_argument("config", metavar="mm2.properties", help="file with the clusters and the flows between them")
    parser.add_argument(
        "--clusters",
        nargs="+",
        metavar="CLUSTER",
        default=(),
        help="targets of the flows that this process runs; all clusters of the file by default",
    )
    return parser


def _first_mirror_maker(options: Sequence[str]) -> str:
    are = "is an option" if len(options) == 1 else "are options"
    return (
        f"{', '.join(options)} {are} of MirrorMaker 1, which left Kafka with version 4.0. Write the clusters, the flow "
        f"and its topics into mm2.properties; with replication.policy.class={IDENTITY_REPLICATION_POLICY} topics keep "
        "their names, as they did there."
    )
