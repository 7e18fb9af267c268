"""``python -m connect_dagster.cli.worker standalone|distributed``: the commands, run by this very interpreter."""

import sys

from connect_dagster.cli.worker.command import distributed, standalone

{"standalone": standalone, "distributed": distributed}[sys.argv[1]](sys.argv[2:])
