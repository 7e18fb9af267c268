"""Put the jars of a locked set on this machine and return their paths.

Jars live in the local Maven repository (`M2_REPO`, else `~/.m2/repository`), shared with other tools. What is
missing is downloaded with jgo, from the repositories of the user's jgo settings or else its default one, and
each jar must have the SHA-256 of the lock. A jar once verified is recognised by size and time of change:
a start with all jars in place costs no hashing, no network and no import of jgo.

`python -m connect_dagster.embedded.jars lock` resolves the sets again and writes the lock.
"""

import hashlib
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from connect_dagster.embedded.errors import JarCorrupt, JarUnavailable
from connect_dagster.embedded.jar_lock import JAR_SETS, LOCK_FILE, JarSet, LockedJar, locked_jars, write_lock

log = logging.getLogger(__name__)

Progress = Callable[[int, int, str], None]
"""Called after each downloaded jar with (jars downloaded, jars to download, coordinate)."""

DOWNLOADS_AT_ONCE = 6
ATTEMPTS = 3
TIMEOUT_SECONDS = 30


def local_repository() -> Path:
    """Return the local Maven repository of this user."""
    return Path(os.environ.get("M2_REPO") or Path.home() / ".m2" / "repository")


def resolve(
    set_name: str,
    *,
    progress: Progress | None = None,
    repository: Path | None = None,
    lock_file: Path = LOCK_FILE,
) -> list[Path]:
    """Return the jars of a set as files, downloaded where they are missing.

    Args:
        set_name: a table of the lock, such as `broker`.
        progress: called for each jar that had to be downloaded; by default each is logged.
        repository: the local Maven repository; the user's by default.
        lock_file: the lock to obey; the one that ships with this package by default.

    Raises:
        KeyError: the set is unknown.
        JarUnavailable: a missing jar cannot be downloaded; names its coordinate.
        JarCorrupt: a jar is not the locked one; names its coordinate and both checksums.
    """
    root = repository or local_repository()
    jars = locked_jars(set_name, lock_file)
    missing = [jar for jar in jars if not (root / jar.repository_path).is_file()]
    if missing:
        log.info(
            "Fetching %d of the %d jars of %s into %s; this is needed once", len(missing), len(jars), set_name, root
        )
        _download_all(missing, root, progress or _log_jar)
    _verify_all(jars, root)
    return [root / jar.repository_path for jar in jars]


def _verify_all(jars: Sequence[LockedJar], root: Path) -> None:
    with VerifiedFiles.load() as verified:
        for jar in jars:
            path = root / jar.repository_path
            if not verified.holds(path, jar.sha256):
                _verify(jar, path)
                verified.add(path, jar.sha256)


def _verify(jar: LockedJar, path: Path) -> None:
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != jar.sha256:
        raise JarCorrupt(
            f"The jar {jar.coordinate} has SHA-256 {actual}, but the lock says {jar.sha256}: "
            f"delete {path} to have it downloaded again."
        )


def _download_all(jars: Sequence[LockedJar], root: Path, progress: Progress) -> None:
    root.mkdir(parents=True, exist_ok=True)
    # Beside the final place, so that a finished and verified jar gets there in one atomic step.
    with (
        tempfile.TemporaryDirectory(prefix=".connect-dagster-", dir=root) as scratch,
        ThreadPoolExecutor(DOWNLOADS_AT_ONCE, thread_name_prefix="jars") as pool,
    ):
        context = _maven_context(Path(scratch))
        downloads = {pool.submit(_download, jar, context, root): jar for jar in jars}
        try:
            for done, download in enumerate(as_completed(downloads), start=1):
                download.result()
                progress(done, len(jars), downloads[download].coordinate)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _log_jar(done: int, total: int, coordinate: str) -> None:
    log.info("Fetched jar %d of %d: %s", done, total, coordinate)


def _download(jar: LockedJar, context: Any, root: Path) -> None:
    downloaded = _fetch(jar, context)
    _verify(jar, downloaded)
    target = root / jar.repository_path
    target.parent.mkdir(parents=True, exist_ok=True)
    downloaded.replace(target)


def _fetch(jar: LockedJar, context: Any) -> Path:
    artifact = _dependency(jar.coordinate, context).artifact
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return Path(artifact.resolve())
        except OSError as error:  # every network error is one
            artifact.cached_path.unlink(missing_ok=True)  # a part of a jar would pass for the whole
            if attempt == ATTEMPTS:
                raise JarUnavailable(_unavailable(jar, error)) from error
        except RuntimeError as error:  # jgo defines no errors
            raise JarUnavailable(_unavailable(jar, error)) from error
    raise AssertionError("unreachable: the last attempt returns or raises")


def _unavailable(jar: LockedJar, error: Exception) -> str:
    return f"Cannot get the jar {jar.coordinate}; it is needed once, then kept. Is there a network? {error}"


def _maven_context(repo_cache: Path) -> Any:
    from jgo.config import GlobalSettings  # half a second, and only needed when a jar is missing
    from jgo.maven import MavenContext

    repositories = GlobalSettings.load().repositories
    return MavenContext(repo_cache=repo_cache, remote_repos=repositories or None, timeout=TIMEOUT_SECONDS)


def _dependency(coordinate: str, context: Any) -> Any:
    from jgo.parse import Coordinate

    sought = LockedJar(coordinate, sha256="")
    group, artifact, version, *rest = sought.name.split(":")
    classifier = rest[0] if rest else None
    return context.create_dependency(
        Coordinate(group, artifact, version, classifier=classifier, packaging=sought.packaging)
    )


def _lock(jar_set: JarSet, context: Any) -> tuple[LockedJar, ...]:
    dependencies = [_dependency(root, context) for root in jar_set.roots]
    if jar_set.transitive:
        inputs, transitive = context.resolver.resolve(dependencies)
        dependencies = [*inputs, *transitive]
    return tuple(_locked(dependency.artifact) for dependency in dependencies)


def _locked(artifact: Any) -> LockedJar:
    with Path(artifact.resolve()).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    parts = (artifact.groupId, artifact.artifactId, artifact.version, artifact.classifier)
    packaging = "" if artifact.packaging == "jar" else f"@{artifact.packaging}"
    return LockedJar(":".join(filter(None, parts)) + packaging, sha256)


def main(arguments: Sequence[str]) -> int:
    """Resolve every set of `JAR_SETS` from scratch and write the lock."""
    if list(arguments) != ["lock"]:
        sys.stderr.write("usage: python -m connect_dagster.embedded.jars lock\n")
        return 2
    with tempfile.TemporaryDirectory() as scratch:  # never trust a jar that lies around
        context = _maven_context(Path(scratch))
        write_lock({name: _lock(jar_set, context) for name, jar_set in JAR_SETS.items()})
    return 0


class VerifiedFiles:
    """Files that were hashed already, so that the next start need not hash them again.

    A file counts as the verified one while its size and its time of change are the same. The set is loaded from a small
    JSON file in the user's cache and, as a context manager, saved back when it grew; losing it costs a second.
    """

    def __init__(self, stamps: dict[str, str], memory: Path) -> None:
        self._stamps = stamps
        self._memory = memory
        self._grew = False

    @classmethod
    def load(cls) -> Self:
        """Load the user's cache (`XDG_CACHE_HOME`, else `~/.cache`); empty when unreadable."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        memory = cache / "connect-dagster" / "verified-jars.json"
        try:
            stamps = json.loads(memory.read_text())
        except (OSError, ValueError):
            stamps = {}
        return cls(stamps, memory)

    def holds(self, path: Path, sha256: str) -> bool:
        """Return whether the file at `path` was seen with this SHA-256 and has not changed since."""
        return self._stamps.get(str(path)) == _stamp(path, sha256)

    def add(self, path: Path, sha256: str) -> None:
        """Remember that the file at `path` has this SHA-256."""
        self._stamps[str(path)] = _stamp(path, sha256)
        self._grew = True

    def save(self) -> None:
        """Write the memory in one step. Of two writers the later wins; the other hashes once more."""
        with suppress(OSError):  # a read-only home only costs the speed-up
            self._memory.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._memory.parent, delete=False) as file:
                json.dump(self._stamps, file, indent=0)
            Path(file.name).replace(self._memory)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._grew:
            self.save()


def _stamp(path: Path, sha256: str) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns} {sha256}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
