"""Order of Java's hash maps, alone and against a real Java."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from connect_dagster.embedded.java import find_java
from connect_dagster.java.hashes import hash_map_order
from tests.golden_answers import Golden

# Puts the lines of a file into a HashMap, and into one made for their number; prints the orders of iteration.
PROGRAM = """
import java.nio.file.*;
import java.util.*;

public class Order {
    public static void main(String[] args) throws Exception {
        for (String file : args) {
            List<String> lines = Files.readAllLines(Paths.get(file));
            write(file + ".ordered", new HashMap<>(), lines);
            write(file + ".sized", new HashMap<>(lines.size()), lines);
        }
    }

    static void write(String file, Map<String, String> map, List<String> lines) throws Exception {
        for (String line : lines)
            map.put(line, "");
        Files.write(Paths.get(file), map.keySet());
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


def test_the_order_is_that_of_a_real_java(golden: Golden, tmp_path: Path) -> None:
    rng = random.Random(7)
    alphabet = "abcdefghijklmnop._-AZ09가나한é😀"
    groups = [
        list(dict.fromkeys("".join(rng.choices(alphabet, k=rng.randint(1, 12))) for _ in range(size)))
        for size in (2, 5, 12, 13, 24, 25, 300)
    ]
    orders = golden.answer("orders", lambda: orders_of_java(groups, tmp_path))
    assert [hash_map_order(keys) for keys in groups] == orders["ordered"]
    assert [hash_map_order(keys, len(keys)) for keys in groups] == orders["sized"]


def orders_of_java(groups: list[list[str]], folder: Path) -> dict[str, list[list[str]]]:
    """Have a JVM iterate over two maps of each group."""
    files = []
    for number, keys in enumerate(groups):
        files.append(folder / f"keys-{number}")
        files[-1].write_text("\n".join(keys), encoding="utf-8")
    (folder / "Order.java").write_text(PROGRAM)
    command: list[str | Path] = [find_java(), "-XX:TieredStopAtLevel=1", folder / "Order.java", *files]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, f"a JDK is needed to launch a source file:\n{ran.stderr}"
    return {
        kind: [Path(f"{file}.{kind}").read_text(encoding="utf-8").split("\n")[:-1] for file in files]
        for kind in ("ordered", "sized")
    }
