"""Keys and values of offsets: the bytes that Java's worker writes."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.embedded.java import find_java
from connect_dagster.plugin.errors import DataError
from connect_dagster.worker.offset_json import hash_map_order, key_bytes, parse_key, parse_value, value_bytes

# Puts the lines of a file into a HashMap, prints its keys in the order of its iteration.
PROGRAM = """
import java.nio.file.*;
import java.util.*;

public class Order {
    public static void main(String[] args) throws Exception {
        for (String file : args) {
            HashMap<String, String> map = new HashMap<>();
            for (String line : Files.readAllLines(Paths.get(file)))
                map.put(line, "");
            Files.write(Paths.get(file + ".ordered"), map.keySet());
        }
    }
}
"""


@pytest.mark.parametrize(
    ("keys", "order"),
    [
        (["topic", "partition", "cluster"], ["cluster", "partition", "topic"]),  # MirrorMaker source
        (["group", "topic", "partition"], ["partition", "topic", "group"]),  # MirrorMaker checkpoint
        (["targetClusterAlias", "sourceClusterAlias"], ["sourceClusterAlias", "targetClusterAlias"]),
        (["kafka_topic", "kafka_partition"], ["kafka_partition", "kafka_topic"]),
        ([], []),
    ],
)
def test_keys_stand_in_the_order_of_javas_map(keys: list[str], order: list[str]) -> None:
    assert hash_map_order(keys) == order


def test_the_order_is_that_of_a_real_java(tmp_path: Path) -> None:
    rng = random.Random(7)
    alphabet = "abcdefghijklmnop._-AZ09가나한é😀"
    groups = [
        list(dict.fromkeys("".join(rng.choices(alphabet, k=rng.randint(1, 12))) for _ in range(size)))
        for size in (2, 5, 12, 13, 24, 25, 300)
    ]
    files = []
    for number, keys in enumerate(groups):
        files.append(tmp_path / f"keys-{number}")
        files[-1].write_text("\n".join(keys), encoding="utf-8")
    (tmp_path / "Order.java").write_text(PROGRAM)
    command: list[str | Path] = [find_java(), "-XX:TieredStopAtLevel=1", tmp_path / "Order.java", *files]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, f"a JDK is needed to launch a source file:\n{ran.stderr}"
    for keys, file in zip(groups, files, strict=True):
        assert hash_map_order(keys) == Path(f"{file}.ordered").read_text(encoding="utf-8").split("\n")[:-1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (47, "47"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        (1e10, "1.0E10"),
        (float("nan"), '"NaN"'),
        (b"\x00\xff", '"AP8="'),
        ("세번째/é", '"세번째/é"'),
        ('"\\\n\x01\x1f\x7f', '"\\"\\\\\\n\\u0001\\u001F\x7f"'),
        ("😀", '"\\uD83D\\uDE00"'),
    ],
)
def test_values_are_written_as_jackson_writes_them(value: Any, text: str) -> None:
    assert value_bytes({"v": value}) == f'{{"v":{text}}}'.encode()


@pytest.mark.parametrize("value", [[1], {"a": 1}, object()])
def test_offsets_hold_primitive_values_only(value: Any) -> None:
    with pytest.raises(DataError, match=r"^Offsets may only contain primitive types as values, but field v contains"):
        value_bytes({"v": value})


def test_offsets_have_names() -> None:
    numbered: dict[Any, Any] = {1: "a"}
    with pytest.raises(DataError, match=r"^Offsets may only use String keys$"):
        value_bytes(numbered)


def test_a_key_names_connector_and_partition() -> None:
    key = key_bytes("local-file-source", {"filename": "/tmp/test.txt"})
    assert key == b'["local-file-source",{"filename":"/tmp/test.txt"}]'
    assert parse_key(key) == ("local-file-source", {"filename": "/tmp/test.txt"})


@pytest.mark.parametrize("key", [b"", b"\xff", b'"a"', b'["a"]', b'["a",null]', b"[1,{}]"])
def test_other_keys_are_none(key: bytes) -> None:
    assert parse_key(key) is None


@pytest.mark.parametrize("value", [b"", b"[1]", b"\xff", b"{"])
def test_values_that_are_no_object_are_refused(value: bytes) -> None:
    with pytest.raises(DataError, match=r"^Offset b'"):
        parse_value(value)
