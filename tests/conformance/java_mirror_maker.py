"""The dedicated process of MirrorMaker for Java beside us."""

from collections.abc import Mapping
from pathlib import Path

from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.ports import HOST, free_port
from tests.conformance.java_connect import JavaWorker


class JavaMirrorMaker(JavaWorker):
    """One `MirrorMaker`; a context manager that starts it, waits until its workers start, and stops it.

    Args:
        props: of its file.
        workdir: for the file and the log.
    """

    main = "org.apache.kafka.connect.mirror.MirrorMaker"

    def __init__(self, props: Mapping[str, str], workdir: Path) -> None:
        super().__init__(props, workdir, jars=resolve("java-mirror"))

    def _is_ready(self) -> bool:
        return "Kafka MirrorMaker started" in self.log()

    def _defaults(self) -> dict[str, str]:
        return {"listeners": f"http://{HOST}:{free_port()}"}
