"""Find the Java runtime of this machine whose version fits.

It looks where Java's own tools look: `JAVA_HOME` first, which is a user's choice and has to fit, else `PATH`, where the
first `java` that fits counts.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from connect_dagster.embedded.errors import JavaNotFound

MINIMUM_VERSION = 17  # what Spark 4.1 and Kafka 4.3 need
# Java 24 took away the security manager: Hadoop's `Subject.getSubject` throws there, so that Spark 4.1 opens no file.
MAXIMUM_VERSION = 23

_NEEDED = f"Java {MINIMUM_VERSION} to {MAXIMUM_VERSION} is needed"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(env: Mapping[str, str] | None = None) -> Path:
    """Return the `java` program to start JVMs with.

    Args:
        env: the environment to look in; this process's own by default.

    Raises:
        JavaNotFound: there is none, it does not run, or Spark cannot run on its version.
    """
    env = os.environ if env is None else env
    home = env.get("JAVA_HOME")
    found = [_of_home(home)] if home else list(_on_path(env.get("PATH", "")))
    if not found:
        raise JavaNotFound(
            f"{_NEEDED}, but java is not on PATH and JAVA_HOME is not set: install a Java runtime, or set JAVA_HOME."
        )
    unfit = []
    for java in found:
        version = _major_version(java)
        if MINIMUM_VERSION <= version <= MAXIMUM_VERSION:
            return java
        unfit.append(f"{java} is Java {version}")
    raise JavaNotFound(f"{_NEEDED}, but {', '.join(unfit)}: install one of these versions, or point JAVA_HOME at it.")


def _of_home(home: str) -> Path:
    java = Path(home) / "bin" / "java"
    if not os.access(java, os.X_OK):
        raise JavaNotFound(
            f"{_NEEDED}, but JAVA_HOME={home} has no bin/java: correct JAVA_HOME, or unset it to use the java on PATH."
        )
    return java


def _on_path(path: str) -> Iterator[Path]:
    """Yield each program once that `java` may mean, in the order of the folders on PATH."""
    seen = set()
    for folder in filter(None, path.split(os.pathsep)):
        java = shutil.which("java", path=folder)
        if java is not None and (program := Path(java).resolve()) not in seen:
            seen.add(program)
            yield Path(java)


def _major_version(java: Path) -> int:
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaNotFound(f"{_NEEDED}, but {java} does not run: {error}.") from error
    said = ran.stderr + ran.stdout
    match = _VERSION.search(said)
    if ran.returncode != 0 or match is None:
        raise JavaNotFound(f"{_NEEDED}, but `{java} -version` said only {said.strip()!r}.")
    return int(match[1])
