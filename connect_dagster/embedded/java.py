"""Find the Java runtime of this machine and make sure that it is new enough.

It looks where Java's own tools look: `JAVA_HOME` first, then `PATH`.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from connect_dagster.embedded.errors import JavaNotFound

MINIMUM_VERSION = 17  # what Spark 4.1 and Kafka 4.3 need

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(env: Mapping[str, str] | None = None) -> Path:
    """Return the `java` program to start JVMs with.

    Args:
        env: the environment to look in; this process's own by default.

    Raises:
        JavaNotFound: there is none, it does not run, or it is older than `MINIMUM_VERSION`.
    """
    java = _locate(os.environ if env is None else env)
    version = _major_version(java)
    if version < MINIMUM_VERSION:
        raise JavaNotFound(
            f"Java {MINIMUM_VERSION} or newer is needed, but {java} is Java {version}: "
            "install a newer one, or point JAVA_HOME at it."
        )
    return java


def _locate(env: Mapping[str, str]) -> Path:
    home = env.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise JavaNotFound(
                f"Java {MINIMUM_VERSION} or newer is needed, but JAVA_HOME={home} has no bin/java: "
                "correct JAVA_HOME, or unset it to use the java on PATH."
            )
        return java
    # An empty PATH must not fall back on the system's default search path.
    found = shutil.which("java", path=env.get("PATH") or os.devnull)
    if found is None:
        raise JavaNotFound(
            f"Java {MINIMUM_VERSION} or newer is needed, but java is not on PATH and JAVA_HOME is "
            "not set: install a Java runtime, or set JAVA_HOME."
        )
    return Path(found)


def _major_version(java: Path) -> int:
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaNotFound(f"Java {MINIMUM_VERSION} or newer is needed, but {java} does not run: {error}.") from error
    said = ran.stderr + ran.stdout
    match = _VERSION.search(said)
    if ran.returncode != 0 or match is None:
        raise JavaNotFound(
            f"Java {MINIMUM_VERSION} or newer is needed, but `{java} -version` said only {said.strip()!r}."
        )
    return int(match[1])
