"""Thread dump on SIGQUIT, as a JVM gives it: every thread by its name, the process goes on."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from types import FrameType


def dump_on_quit() -> None:
    """Write all stacks to standard error at each SIGQUIT (``kill -QUIT``)."""
    signal.signal(signal.SIGQUIT, _dump)


def _dump(_: int, __: FrameType | None) -> None:
    frames = sys._current_frames()
    for thread in threading.enumerate():
        stack = frames.get(thread.ident or 0)
        daemon = " daemon" if thread.daemon else ""
        print(f'"{thread.name}"{daemon} tid={thread.native_id}', file=sys.stderr)
        sys.stderr.writelines(traceback.format_stack(stack))
        print(file=sys.stderr)
    sys.stderr.flush()
