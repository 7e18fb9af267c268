"""Memory of a worker's session: of its process and its children, such as Spark's JVM."""

import os
from pathlib import Path


def session_memory(session: int) -> int | None:
    """Return the resident bytes of all processes of a session; None without ``/proc``.

    Args:
        session: Id of the session, which is the pid of the process that began it.
    """
    if not Path("/proc/self/stat").exists():
        return None
    pages = sum(_pages(stat, session) for stat in Path("/proc").glob("[0-9]*/stat"))
    return pages * os.sysconf("SC_PAGE_SIZE")


def _pages(stat: Path, session: int) -> int:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return 0  # it ended meanwhile
    # After the name come state, parent, group, session; resident pages are 18 fields further (proc(5)).
    return int(fields[21]) if int(fields[3]) == session else 0
