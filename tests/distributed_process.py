"""A worker of a cluster as a child process: our command `connect-distributed`, and the properties of a group."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from connect_dagster.embedded.ports import HOST, free_port
from tests.integration.worker_process import COMMAND, COMMON_DEFAULTS, QUICK_JVM, WorkerProcess


class DistributedProcess(WorkerProcess):
    """One `connect-distributed`; a context manager that starts it, waits until it is healthy, and stops it.

    Args:
        worker_props: the worker's properties, see `group_properties`; the listener gets a value when absent.
        workdir: for its property file and log.
        jvm: Spark settings of its JVM.
        within: see `WorkerProcess`.
    """

    command: ClassVar[Path] = COMMAND.with_name("connect-distributed")

    def __init__(
        self,
        worker_props: Mapping[str, str],
        workdir: Path,
        *,
        jvm: Mapping[str, str] = QUICK_JVM,
        within: Sequence[str] = (),
    ) -> None:
        super().__init__(worker_props, [], workdir, jvm=jvm, within=within)

    def _defaults(self) -> dict[str, str]:
        return {"listeners": f"http://{HOST}:{free_port()}"}


def group_properties(bootstrap_servers: str, prefix: str, **more: str) -> dict[str, str]:
    """What the workers of one group share.

    Args:
        bootstrap_servers: of a cluster of at least one broker.
        prefix: of the names of the group and its three topics.
        more: further properties, with `_` for the dots of their names.
    """
    return {
        **COMMON_DEFAULTS,
        "bootstrap.servers": bootstrap_servers,
        "group.id": f"{prefix}group",
        **{f"{kind}.storage.topic": f"{prefix}{kind}s" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
        **{name.replace("_", "."): value for name, value in more.items()},
    }
