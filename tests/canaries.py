"""Passwords that are recognised wherever they turn up: one for each place that can hold a password."""

import base64
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote


class Canaries:
    """Passwords of one test, each with the name of its place in it."""

    def __init__(self) -> None:
        self._mark = f"canary-{uuid.uuid4().hex[:8]}"
        self._places: dict[str, bytes] = {}

    def __call__(self, place: str) -> str:
        """The password of a place, such as `connection.password`; the same each time."""
        text = f"{self._mark}-{re.sub('[^a-z0-9]', '-', place)}-end"
        self._places[place] = text.encode()
        return text

    def found_in(self, *contents: bytes | str) -> set[str]:
        """The places whose password is in these, as it is or in Base64."""
        together = b"\0".join(one.encode() if isinstance(one, str) else one for one in contents)
        return {place for place, password in self._places.items() if any(form in together for form in _forms(password))}


def _forms(password: bytes) -> Iterator[bytes]:
    yield password
    for before in range(3):  # the Base64 of `user:password` depends on the length of the user's name
        encoded = base64.b64encode(b"x" * before + password)
        yield encoded[4 if before else 0 : len(password) * 4 // 3 // 4 * 4]


def get_targets(document: Mapping[str, object], names: Mapping[str, Iterable[str]]) -> list[str]:
    """Targets of all GET requests that an OpenAPI document describes.

    Args:
        document: the description.
        names: values for the parameters of paths, such as `connector`.
    """
    paths = document["paths"]
    assert isinstance(paths, Mapping)
    return [target for path, methods in paths.items() if "get" in methods for target in _filled(path, names)]


def _filled(path: str, names: Mapping[str, Iterable[str]]) -> Iterator[str]:
    found = re.search(r"\{(\w+)\}", path)
    if found is None:
        yield path
        return
    for name in names[found[1]]:
        yield from _filled(path.replace(found[0], quote(name, safe="")), names)


def contents_of(*folders: Path) -> list[bytes]:
    """Contents of all files below folders; those that go away meanwhile are left out."""
    found = []
    for file in (file for folder in folders for file in folder.rglob("*")):
        try:
            found.append(file.read_bytes() if file.is_file() else b"")
        except OSError:
            continue
    return found
