"""Arguments of connect-mirror-maker, and the refusal of MirrorMaker 1's."""

from __future__ import annotations

import pytest

from connect_dagster.connectors.mirror.command_line import Arguments, parse_arguments
from connect_dagster.errors import ConfigError

USAGE = "usage: connect-mirror-maker [-h] mm2.properties [--clusters CLUSTER [CLUSTER ...]]\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mm2.properties"], Arguments("mm2.properties")),
        (["mm2.properties", "--clusters", "B", "C"], Arguments("mm2.properties", ("B", "C"))),
        (["mm2.properties", "--clusters", "B", "--clusters", "C"], Arguments("mm2.properties", ("C",))),
        (["--clusters", "B", "--", "mm2.properties"], Arguments("mm2.properties", ("B",))),
    ],
)
def test_arguments(words: list[str], expected: Arguments) -> None:
    assert parse_arguments(words) == expected


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        parse_arguments(["--help"])
    assert raised.value.code == 0
    assert capsys.readouterr().out.startswith(USAGE)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "the following arguments are required: mm2.properties"),
        (["--clusters", "B", "mm2.properties"], "the following arguments are required: mm2.properties"),
        (["mm2.properties", "--clusters"], "argument --clusters: expected at least one argument"),
        (["mm2.properties", "other.properties"], "unrecognized arguments: other.properties"),
        (["mm2.properties", "--cluster", "B"], "unrecognized arguments: --cluster B"),
    ],
)
def test_wrong_arguments_give_usage_and_reason(words: list[str], reason: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_arguments(words)
    assert str(raised.value) == f"{USAGE}connect-mirror-maker: error: {reason}"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (
            ["--consumer.config", "c.properties", "--producer.config=p.properties", "--whitelist", ".*"],
            "--consumer.config, --producer.config, --whitelist are options",
        ),
        (["--include", ".*"], "--include is an option"),
        (["mm2.properties", "--num.streams", "2"], "--num.streams is an option"),
    ],
)
def test_lb_13_options_of_the_first_mirror_maker(words: list[str], named: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_arguments(words)
    assert str(raised.value) == (
        f"{USAGE}connect-mirror-maker: error: {named} of MirrorMaker 1, which left Kafka with version 4.0. Write the "
        "clusters, the flow and its topics into mm2.properties; with "
        "replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy topics keep their names, "
        "as they did there."
    )
