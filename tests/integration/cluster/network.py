"""A network namespace that a test makes, so that what runs in it can be cut off without anybody being told.

The namespace's cable ends at a bridge on this side; taken off the bridge, it swallows what is sent. Needs root.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self


class CutOffNetwork:
    """A namespace with one cable to this side; a context manager that makes and removes it.

    Args:
        tag: at most seven letters, for the names of its parts.
        net: the first three bytes of all addresses, as `10.1.2`.
        beside: another one with the same net, whose bridge this one's cable ends at.
    """

    def __init__(self, tag: str, net: str, beside: "CutOffNetwork | None" = None) -> None:
        self.here, self.there = f"{net}.1", f"{net}.2" if beside is None else f"{net}.3"
        self._beside = beside
        self._space = f"{tag}-space"
        self._bridge: str = f"{tag}-bridge" if beside is None else beside._bridge
        self._plug, self._socket = f"{tag}-plug", f"{tag}-socket"

    def __enter__(self) -> Self:
        try:
            self._make()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def command(self, *words: str | Path) -> list[str]:
        """A command as it runs inside."""
        return ["ip", "netns", "exec", self._space, *map(str, words)]

    def processes(self) -> set[int]:
        """Ids of the processes inside."""
        listed = subprocess.run(["ip", "netns", "pids", self._space], capture_output=True, text=True, check=True)
        return set(map(int, listed.stdout.split()))

    def cut(self) -> None:
        """Let what is sent disappear."""
        _ip("link", "set", self._plug, "nomaster")

    def heal(self) -> None:
        """Join both sides again."""
        _ip("link", "set", self._plug, "master", self._bridge)

    def _make(self) -> None:
        _ip("netns", "add", self._space)
        if self._beside is None:
            _ip("link", "add", self._bridge, "type", "bridge", "forward_delay", "0")
            _ip("address", "add", f"{self.here}/24", "dev", self._bridge)
            _ip("link", "set", self._bridge, "up")
        _ip("link", "add", self._plug, "type", "veth", "peer", "name", self._socket)
        _ip("link", "set", self._socket, "netns", self._space)
        _ip("link", "set", self._plug, "up")
        _ip("-n", self._space, "address", "add", f"{self.there}/24", "dev", self._socket)
        _ip("-n", self._space, "link", "set", self._socket, "up")
        _ip("-n", self._space, "link", "set", "lo", "up")
        self.heal()

    def _remove(self) -> None:
        _ip("link", "delete", self._plug, check=False)
        if self._beside is None:
            _ip("link", "delete", self._bridge, check=False)
        _ip("netns", "delete", self._space, check=False)


def _ip(*words: str, check: bool = True) -> None:
    command: Sequence[str] = ["ip", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and ran.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {ran.stderr.strip()}")
