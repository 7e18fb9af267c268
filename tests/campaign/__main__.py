"""`python -m tests.campaign`: faults drawn from a seed, under numbered records that must all arrive.

It can be stopped at any time: the same command with the same seed continues where it was.
"""

import math
import os
import platform
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from tests.campaign.lanes import of_lane, play_lanes
from tests.campaign.outcomes import Journal
from tests.campaign.report import ALONE, BESIDE_JAVA, JAVA, OURS, about, summary, table, write_page
from tests.campaign.runner import Campaign, StageError
from tests.campaign.schedule import KINDS, MOST_WORKERS, Schedule, Turn, turns
from tests.campaign.stage import ROOT

_ARTIFACTS = Path(__file__).parents[2] / "artifacts" / "campaign"
_FLOWS = ("file", "jdbc", "plugin")
_INTERRUPTED = 130


@click.command()
@click.option("--seed", type=int, help="Of all draws; a new one by default.")
@click.option("--faults", "count", default=1000, show_default=True, help="Number of faults.")
@click.option("--minutes", type=float, help="Begin no fault after this time.")
@click.option("--java", "compared", is_flag=True, help="Play each act with Java's workers too; faults both can bear.")
@click.option("--flows", multiple=True, type=click.Choice(_FLOWS), help="One of these flows only; repeatable.")
@click.option("--kinds", multiple=True, type=click.Choice([kind.name for kind in KINDS]), help="The same for kinds.")
@click.option("--mixed/--no-mixed", default=None, help="Groups with or without a worker of Java's only.")
@click.option("--workers", type=click.IntRange(1, MOST_WORKERS), help="Groups of this size only.")
@click.option("--act", "act_length", default=20, show_default=True, help="Faults until the processes are replaced.")
@click.option(
    "--lanes",
    type=click.IntRange(1, 8),
    default=1,
    show_default=True,
    help="Acts at once, in a process each; on a busy machine recovery takes longer.",
)
@click.option("--lane", type=int, hidden=True, help="This one of them alone.")
@click.option("--patience", default=240.0, show_default=True, help="Seconds until a record counts as lost or stuck.")
@click.option("--folder", type=click.Path(path_type=Path), default=_ARTIFACTS, help="Of all journals.")
@click.option("--docs", is_flag=True, help="Play nothing; write the table of this seed into docs/testing.md.")
def main(
    seed: int | None,
    count: int,
    minutes: float | None,
    compared: bool,
    flows: Sequence[str],
    kinds: Sequence[str],
    mixed: bool | None,
    workers: int | None,
    act_length: int,
    lanes: int,
    lane: int | None,
    patience: float,
    folder: Path,
    docs: bool,
) -> None:
    """Play a campaign of faults and print its table. Exit with 1 when a record was lost or something got stuck."""
    if docs and seed is None:
        raise click.UsageError("--docs needs the --seed of a campaign that was played")
    seed = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    schedule = Schedule(seed, compared, tuple(flows or _FLOWS), tuple(kinds), ROOT, mixed, workers, act_length)
    own = folder / f"seed-{seed}{'-java' if compared else ''}"
    try:
        journal = Journal(own, asdict(schedule), lane or 0)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    status = 0
    if not docs:
        limits = "" if ROOT else "; no root: no network is cut, no disk is filled"
        click.echo(f"seed {seed}, journal in {own}{limits}")
        if lanes > 1 and lane is None:
            status = play_lanes(lanes, [*sys.argv[1:], "--seed", str(seed)])
        else:
            campaign = Campaign(schedule, journal, patience, click.echo)
            turns_of = turns(count, (OURS, JAVA) if compared else (OURS,), act_length)
            status = _play(campaign, of_lane(turns_of, lane or 0, lanes, act_length), minutes)
    if lane is not None:
        sys.exit(status)
    outcomes = journal.outcomes()
    heading = about(f"Seed {seed}", outcomes, f"{os.cpu_count()} cores, {platform.system()} {platform.release()}")
    if docs:
        write_page(heading, outcomes, BESIDE_JAVA if compared else ALONE)
    click.echo(f"\n{heading}\n\n{table(outcomes)}\n\n{summary(outcomes)}")
    sys.exit(status if all(outcome.good for outcome in outcomes if outcome.side == OURS) else 1)


def _play(campaign: Campaign, left: Iterator[Turn], minutes: float | None) -> int:
    """Play until the end, the time, or a signal; return the exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    until = math.inf if minutes is None else time.monotonic() + minutes * 60
    try:
        campaign.play(left, until)
    except KeyboardInterrupt:
        click.echo("stopped; the same seed continues here")
        return _INTERRUPTED
    except (StageError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    return 0


if __name__ == "__main__":
    main()
