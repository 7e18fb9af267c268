"""Key tables of Kerberos, as ``ktutil`` and ``kadmin`` write them: the principals that they have keys of.

Only for errors: the library of Kerberos reads the keys.
"""

from __future__ import annotations

import struct
from pathlib import Path

_VERSION = b"\x05\x02"


def principals(file: Path) -> list[str]:
    """Return the principals of a key table, each once.

    Args:
        file: in version 2 of the format, big-endian.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a key table.
    """
    content = file.read_bytes()
    if content[:2] != _VERSION:
        raise ValueError("it does not begin with 05 02")
    found: dict[str, None] = {}
    at = 2
    try:
        while at < len(content):
            (size,) = struct.unpack_from(">i", content, at)
            at += 4
            if size > 0:
                found[_principal(content[at : at + size])] = None
            at += abs(size)  # negative: the place of a deleted entry
            if size == 0:
                break
    except (struct.error, UnicodeDecodeError):
        raise ValueError("an entry is cut off") from None
    return list(found)


def _principal(entry: bytes) -> str:
    (components,) = struct.unpack_from(">H", entry)
    at, texts = 2, []
    for _ in range(components + 1):
        (length,) = struct.unpack_from(">H", entry, at)
        if at + 2 + length > len(entry):
            raise struct.error
        texts.append(entry[at + 2 : at + 2 + length].decode())
        at += 2 + length
    realm, *names = texts
    return f"{'/'.join(names)}@{realm}"
