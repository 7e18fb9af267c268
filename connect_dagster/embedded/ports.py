"""Choose TCP ports on the loopback interface for servers that we start and restart."""

import random
import socket

HOST = "127.0.0.1"

# Below every usual ephemeral range: a client that reconnects to a dead server's ephemeral port can meet
# itself (TCP's simultaneous open), and then holds the port that the server needs to come back.
_RANGE = range(20_000, 32_000)
_TRIES = 200


def is_free(port: int) -> bool:
    """Return whether a server could listen on `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """Return a free port, outside the range of outgoing connections.

    Raises:
        OSError: many were tried and none is free.
    """
    for port in random.sample(_RANGE, _TRIES):
        if is_free(port):
            return port
    raise OSError(f"none of {_TRIES} ports tried between {_RANGE.start} and {_RANGE.stop} is free")


def is_listening(port: int) -> bool:
    """Return whether a server accepts connections on `port`."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((HOST, port)) == 0
