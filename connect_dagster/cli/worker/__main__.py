"""``python -m connect_dagster.cli.worker standalone|distributed|mirror-maker``: the commands, by this interpreter."""

import sys

from connect_dagster.cli.worker.command import distributed, mirror_maker, standalone

{"standalone": standalone, "distributed": distributed, "mirror-maker": mirror_maker}[sys.argv[1]](sys.argv[2:])
