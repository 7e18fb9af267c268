"""MirrorMaker's dedicated process in Java, as a process beside us."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from connect_dagster.embedded.broker_config import FAST_START
from connect_dagster.embedded.jars import resolve
from tests.conformance.java_connect import JavaProcess


class JavaMirrorMaker(JavaProcess):
    """One `MirrorMaker` with its file.

    Args:
        props: of the file.
        workdir: for the file and the log.
        targets: aliases of `--clusters`.
        heap: see `JavaProcess`.
        jvm: see `JavaProcess`.
    """

    main = "org.apache.kafka.connect.mirror.MirrorMaker"

    def __init__(
        self,
        props: Mapping[str, str],
        workdir: Path,
        targets: Sequence[str] = (),
        *,
        heap: str = "1g",
        jvm: tuple[str, ...] = FAST_START,
    ) -> None:
        super().__init__(props, workdir, heap=heap, jvm=jvm, jars=resolve("java-mirror"))
        self._targets = targets

    def _arguments(self) -> list[str | Path]:
        chosen = ["--clusters", *self._targets] if self._targets else []
        return [self._write("mm2.properties", self.props), *chosen]
