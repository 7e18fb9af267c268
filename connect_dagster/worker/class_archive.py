"""Makes the class archive that lets later worker starts skip loading 20,000 classes one by one (AppCDS).

Made once for each machine, JVM and set of jars, in about 20 seconds and 140 MB, by
``python -m connect_dagster.worker.class_archive``.
A worker without it starts all the same, some seconds slower.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from connect_dagster.worker import jvm, session


def make() -> Path:
    """Make the archive unless it is there; answers its path.

    Raises:
        ConnectError: the JVM did not start.
    """
    archive = jvm.class_archive()
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
            fresh = Path(folder) / "classes.jsa"
            one = session.Session({}, jvm_options=[f"-XX:ArchiveClassesAtExit={fresh}", "-Xlog:cds=off"])
            one.warm_up()
            one.stop(seconds=120)
            fresh.replace(archive)
    return archive


if __name__ == "__main__":
    sys.stdout.write(f"{make()}\n")
