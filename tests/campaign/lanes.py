"""Acts at the same time: each lane is a process, as a stage knows its own processes by their environment."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence

from tests.campaign.schedule import Turn


def of_lane(turns: Iterator[Turn], lane: int, lanes: int, act_length: int) -> Iterator[Turn]:
    """Yield the turns of one lane: every `lanes`-th act."""
    yield from (turn for turn in turns if turn.number // act_length % lanes == lane)


def play_lanes(lanes: int, arguments: Sequence[str]) -> int:
    """Play all lanes to their ends; return the highest exit code. SIGINT and SIGTERM end them in an orderly way.

    Args:
        lanes: their number.
        arguments: of the campaign's command.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    command = [sys.executable, "-m", "tests.campaign", *arguments]
    # Out of reach of the terminal: a second signal would cut off the end of a lane.
    running = [subprocess.Popen([*command, "--lane", str(lane)], start_new_session=True) for lane in range(lanes)]
    while True:
        try:
            return max(one.wait() for one in running)
        except KeyboardInterrupt:
            for one in running:
                one.terminate()
