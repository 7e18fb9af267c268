"""Java's serialized form of a text (``java.io.ObjectOutputStream.writeObject``)."""

from __future__ import annotations

_HEADER = b"\xac\xed\x00\x05"
_STRING, _LONG_STRING = b"\x74", b"\x7c"
_LONGEST_SHORT = 0xFFFF


def serialized_text(text: str) -> bytes:
    """Return the stream that has only this ``String``."""
    content = modified_utf8(text)
    if len(content) > _LONGEST_SHORT:
        return _HEADER + _LONG_STRING + len(content).to_bytes(8, "big") + content
    return _HEADER + _STRING + len(content).to_bytes(2, "big") + content


def modified_utf8(text: str) -> bytes:
    """Return the bytes of ``DataOutput.writeUTF`` without their length: two for U+0000, six beyond U+FFFF."""
    units = text.encode("utf-16-be", "surrogatepass")
    halves = (chr(int.from_bytes(units[at : at + 2], "big")) for at in range(0, len(units), 2))
    return "".join(halves).encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
