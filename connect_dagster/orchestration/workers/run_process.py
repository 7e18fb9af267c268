"""The process of a run, identified so that another process can check that it is gone.

Dagster does not notice when the machine or all Dagster processes end: such a run stays STARTED forever.
"""

import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True, slots=True)
class RunProcess:
    """A process, unique over machines, boots and namespaces.

    Attributes:
        host: The machine's name.
        boot: Id of the machine's boot.
        namespace: The space its pid counts in: a container has its own.
        pid: Its process id.
        start: When it started, in the kernel's ticks since the boot: a pid may be used again.
    """

    host: str
    boot: str
    namespace: str
    pid: int
    start: int

    @classmethod
    def current(cls) -> "RunProcess | None":
        """Return this process; None without ``/proc``."""
        return cls.of(os.getpid())

    @classmethod
    def of(cls, pid: int) -> "RunProcess | None":
        """Return a process of this machine; None when it does not exist, or without ``/proc``."""
        try:
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
            namespace = Path("/proc/self/ns/pid").readlink().name
            state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        # A zombie runs no more; the start is the 20th field after the state (proc(5)).
        return None if state == "Z" else cls(socket.gethostname(), boot, namespace, pid, int(fields[18]))

    @classmethod
    def read(cls, text: str | None) -> "RunProcess | None":
        """Parse the result of :meth:`text`; None for any other text."""
        try:
            return TypeAdapter(cls).validate_json(text) if text else None
        except ValidationError:
            return None

    def text(self) -> str:
        """Return the process as text for a tag."""
        return TypeAdapter(dict[str, str | int]).dump_json(asdict(self)).decode()

    def is_running(self) -> bool:
        """Return True if it certainly runs; False also when that is unknown here."""
        return RunProcess.of(self.pid) == self

    def is_gone(self) -> bool:
        """Return True if it certainly ended; False also when that is unknown here."""
        here = RunProcess.current()
        if here is None or here.host != self.host:
            return False
        if here.boot != self.boot:
            return True
        return here.namespace == self.namespace and RunProcess.of(self.pid) != self
