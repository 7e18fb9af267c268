"""`python -m tests.campaign`: faults drawn from a seed, under numbered records that must all arrive.

It can be stopped at any time. The same command with the same seed goes on where it was.
"""

import math
import os
import platform
import random
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from tests.campaign.outcomes import Journal, Outcome
from tests.campaign.report import JAVA, OURS, progress, summary, table, write_page
from tests.campaign.runner import Campaign
from tests.campaign.schedule import KINDS, Schedule, turns

_ARTIFACTS = Path(__file__).parents[2] / "artifacts" / "campaign"
_FLOWS = ("file", "jdbc", "plugin")


@click.command()
@click.option("--seed", type=int, help="Of all draws; another each time unless given.")
@click.option("--faults", "count", default=1000, show_default=True, help="How many.")
@click.option("--minutes", type=float, help="Begin no fault after this time; the campaign goes on another day.")
@click.option("--java", "compared", is_flag=True, help="Only faults that Java's workers can bear; both bear them all.")
@click.option("--flows", multiple=True, type=click.Choice(_FLOWS), help="Only this one; repeatable.")
@click.option("--kinds", multiple=True, type=click.Choice([kind.name for kind in KINDS]), help="Only this; repeatable.")
@click.option("--patience", default=240.0, show_default=True, help="Seconds until a record counts as lost or stuck.")
@click.option("--docs", is_flag=True, help="Play nothing; put the table of this seed into docs/testing.md.")
def main(
    seed: int | None,
    count: int,
    minutes: float | None,
    compared: bool,
    flows: Sequence[str],
    kinds: Sequence[str],
    patience: float,
    docs: bool,
) -> None:
    """Play a campaign of faults and print its table. Ends with 1 when a record was lost or something got stuck."""
    if docs and seed is None:
        raise click.UsageError("--docs needs the --seed of a campaign that was played")
    seed = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    root = os.geteuid() == 0 and shutil.which("ip") is not None
    settings = {"seed": seed, "compared": compared, "flows": flows or _FLOWS, "kinds": kinds, "root": root}
    folder = _ARTIFACTS / f"seed-{seed}{'-java' if compared else ''}"
    try:
        journal = Journal(folder, settings)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    if not docs:
        schedule = Schedule(seed, compared=compared, flows=flows or _FLOWS, kinds=kinds, root=root)
        campaign = Campaign(schedule, journal, patience, root, lambda outcome: click.echo(progress(outcome)))
        sides = (OURS, JAVA) if compared else (OURS,)
        click.echo(
            f"seed {seed}, journal in {folder}{'' if root else '; no root: no network is cut, no disk is filled'}"
        )
        _play(campaign, turns_of=(count, sides), minutes=minutes)
    outcomes = journal.outcomes()
    about = _about(seed, outcomes)
    if docs:
        write_page(about, outcomes)
    click.echo(f"\n{about}\n\n{table(outcomes)}\n\n{summary(outcomes)}")
    sys.exit(0 if all(outcome.good for outcome in outcomes if outcome.side == OURS) else 1)


def _play(campaign: Campaign, turns_of: tuple[int, Sequence[str]], minutes: float | None) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    until = math.inf if minutes is None else time.monotonic() + minutes * 60
    try:
        campaign.play(turns(*turns_of), until)
    except KeyboardInterrupt:
        click.echo("stopped; the same seed goes on here")


def _about(seed: int, outcomes: Sequence[Outcome]) -> str:
    ours = [outcome for outcome in outcomes if outcome.side == OURS]
    lost, stuck = sum(outcome.lost for outcome in ours), sum(outcome.stuck for outcome in ours)
    return (
        f"Seed {seed}, {len(ours)} faults, {os.cpu_count()} cores, {platform.system()} {platform.release()}: "
        f"{lost} records lost, {stuck} stuck, {sum(not outcome.good for outcome in ours)} faults that ended badly."
    )


if __name__ == "__main__":
    main()
