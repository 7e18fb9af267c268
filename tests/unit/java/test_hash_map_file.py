"""The codec of Java's serialised map, alone and against a real Java."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.embedded.java import find_java
from connect_dagster.errors import DataError
from connect_dagster.java.hash_map_file import dumps, loads
from tests.golden_answers import Golden, digest

KEY = b'["local-file-source",{"filename":"/tmp/test.txt"}]'
VALUE = b'{"position":47}'
SIZES = (0, 1, 13, 200)

# Reads what we wrote, one line of hexadecimal for each entry; writes maps of its own, and what is in them.
PROGRAM = """
import java.io.*;
import java.nio.file.*;
import java.util.*;

public class Maps {
    public static void main(String[] args) throws Exception {
        Path dir = Paths.get(args[0]);
        for (String size : args[1].split(",")) {
            try (ObjectInputStream in = new ObjectInputStream(Files.newInputStream(dir.resolve("ours-" + size)))) {
                list(dir.resolve("ours-" + size + ".txt"), (HashMap<byte[], byte[]>) in.readObject());
            }
            write(dir, "java-" + size, fill(new HashMap<>(), Integer.parseInt(size)));
        }
        write(dir, "java-roomy", fill(new HashMap<>(1000, 0.5f), 13));
        HashMap<byte[], byte[]> shared = new HashMap<>();
        byte[] both = {1, 2};
        shared.put(both, both);
        shared.put(new byte[0], null);
        write(dir, "java-shared", shared);
        HashMap<String, String> text = new HashMap<>();
        text.put("a", "b");
        write(dir, "java-text", text);
        write(dir, "java-tree", new TreeMap<>());
    }

    static HashMap<byte[], byte[]> fill(HashMap<byte[], byte[]> map, int size) {
        for (int i = 0; i < size; i++)
            map.put(("key-" + i).getBytes(), i % 5 == 4 ? null : ("value-" + i).getBytes());
        return map;
    }

    static void write(Path dir, String name, Object map) throws Exception {
        try (ObjectOutputStream out = new ObjectOutputStream(Files.newOutputStream(dir.resolve(name)))) {
            out.writeObject(map);
        }
    }

    static void list(Path file, Map<byte[], byte[]> map) throws Exception {
        StringBuilder lines = new StringBuilder();
        for (Map.Entry<byte[], byte[]> entry : map.entrySet())
            lines.append(hex(entry.getKey())).append('=').append(hex(entry.getValue())).append((char) 10);
        Files.writeString(file, lines.toString());
    }

    static String hex(byte[] bytes) {
        return bytes == null ? "null" : HexFormat.of().formatHex(bytes);
    }
}
"""


def entries(size: int) -> dict[bytes, bytes | None]:
    return {f"key-{i}".encode(): None if i % 5 == 4 else f"value-{i}".encode() for i in range(size)}


JAVAS = [*(f"java-{size}" for size in SIZES), "java-roomy", "java-shared", "java-text", "java-tree"]


@pytest.fixture(scope="module")
def ours() -> dict[str, bytes]:
    """Our maps, by size."""
    return {str(size): dumps(entries(size)) for size in SIZES}


@pytest.fixture(scope="module")
def java(golden: Golden, ours: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Our maps as Java saw them, line by line under their size, and Java's own under the names of their files."""
    found: dict[str, Any] = golden.answer(
        f"maps, ours are {digest(ours)}", lambda: answers_of_java(ours, tmp_path_factory.mktemp("java-map"))
    )
    return found


def answers_of_java(ours: dict[str, bytes], folder: Path) -> dict[str, Any]:
    """Have a JVM read our maps and write its own."""
    (folder / "Maps.java").write_text(PROGRAM)
    for size, content in ours.items():
        (folder / f"ours-{size}").write_bytes(content)
    command: list[str | Path] = [find_java(), "-Xshare:auto", "-XX:TieredStopAtLevel=1", folder / "Maps.java", folder]
    ran = subprocess.run([*command, ",".join(ours)], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, f"a JDK is needed to launch a source file:\n{ran.stderr}"
    seen = {size: sorted((folder / f"ours-{size}.txt").read_text().splitlines()) for size in ours}
    return seen | {name: (folder / name).read_bytes() for name in JAVAS}


def test_s1_12_one_entry_is_written_as_java_writes_it() -> None:
    written = dumps({KEY: VALUE})
    assert written.startswith(b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap")
    assert (KEY in written, VALUE in written) == (True, True)


@pytest.mark.parametrize("size", SIZES)
def test_java_reads_what_we_write(java: dict[str, Any], size: int) -> None:
    assert java[str(size)] == sorted(f"{k.hex()}={'null' if v is None else v.hex()}" for k, v in entries(size).items())


@pytest.mark.parametrize("size", SIZES)
def test_we_read_what_java_writes_and_write_it_back_byte_by_byte(java: dict[str, Any], size: int) -> None:
    written = java[f"java-{size}"]
    assert loads(written) == entries(size)
    assert dumps(loads(written)) == written


def test_maps_of_other_capacity_and_shared_arrays_are_read(java: dict[str, Any]) -> None:
    assert loads(java["java-roomy"]) == entries(13)
    assert loads(java["java-shared"]) == {b"\x01\x02": b"\x01\x02", b"": None}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("java-tree", "expected java.util.HashMap but found java.util.TreeMap, at byte 6 of "),
        ("java-text", "expected an array of bytes but found content of type 0x74, at byte "),
    ],
)
def test_other_objects_of_java_are_refused(java: dict[str, Any], name: str, text: str) -> None:
    with pytest.raises(DataError) as raised:
        loads(java[name])
    assert str(raised.value).startswith(f"not a serialised Java HashMap of byte arrays: {text}")


@pytest.mark.parametrize("size", SIZES)
def test_what_we_write_we_read(size: int) -> None:
    assert loads(dumps(entries(size))) == entries(size)


def test_a_file_cut_anywhere_is_refused() -> None:
    whole = dumps(entries(3))
    for length in range(len(whole)):
        with pytest.raises(DataError, match=r"at byte \d+ of \d+$"):
            loads(whole[:length])


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "4 more bytes were expected, there are 0, at byte 0 of 0"),
        (b'{"a": 1}', "expected a Java serialisation header, at byte 0 of 8"),
        (dumps({}) + b"x", "there is more after the end of the map, at byte 82 of 83"),
        (dumps({}).replace(b"\x00\x00\x00\x00x", b"\xff\xff\xff\xffx"), "the map has a size of -1, at byte 73 of 82"),
        (
            dumps({b"a": b"b"}).replace(b"q\x00~\x00\x02", b"q\x00~\x00\x09"),
            "a reference leads nowhere, at byte 106 of 117",
        ),
        (
            dumps({b"a": b"b"}).replace(b"q\x00~\x00\x02", b"q\x00~\x00\x00"),
            "expected [B but found java.util.HashMap, at byte 106 of 117",
        ),
    ],
)
def test_damage_is_named_with_its_place(data: bytes, text: str) -> None:
    with pytest.raises(DataError) as raised:
        loads(data)
    assert str(raised.value) == f"not a serialised Java HashMap of byte arrays: {text}"
