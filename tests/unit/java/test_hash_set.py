"""What Java's string hash decides, alone and against a real Java."""

import random
import subprocess
from pathlib import Path

import pytest

from connect_dagster.embedded.java import find_java
from connect_dagster.java.hashes import hash_set_order, string_hash
from connect_dagster.protocol.group_metadata import partition_of_group
from tests.golden_answers import Golden

# Makes a HashSet of the lines of each file, writes them in the order of its iteration, each with its hash.
PROGRAM = """
import java.nio.file.*;
import java.util.*;

public class Order {
    public static void main(String[] args) throws Exception {
        for (String file : args) {
            List<String> lines = new ArrayList<>();
            for (String line : new HashSet<>(Files.readAllLines(Paths.get(file))))
                lines.add(line + " " + line.hashCode());
            Files.write(Paths.get(file + ".ordered"), lines);
        }
    }
}
"""


def test_s2_25_the_partition_of_the_seeds_group() -> None:
    assert partition_of_group("connect", 50) == 30


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("connect", 951351530),
        ("polygenelubricants", -(1 << 31)),
        ("키", 0xD0A4),
        ("🙂", 0xD83D * 31 + 0xDE42),
    ],
)
def test_hash_of_a_string(text: str, value: int) -> None:
    assert string_hash(text) == value


def test_a_hash_without_a_positive_counterpart_leads_to_partition_0() -> None:
    assert partition_of_group("polygenelubricants", 50) == 0


def test_as_in_java(golden: Golden, tmp_path: Path) -> None:
    # Around the sizes at which a set that is filled one by one has a smaller table than one made of all at once.
    draw = random.Random(7)
    sets = [
        [f"{draw.choice('abcdeé키🙂')}-{draw.randrange(10**6)}" for _ in range(size)]
        for size in (1, 11, 12, 13, 23, 24, 25, 48, 96, 300)
    ]
    ours = [[f"{name} {string_hash(name)}" for name in hash_set_order(names)] for names in sets]
    assert ours == golden.answer("orders and hashes", lambda: orders_of_java(sets, tmp_path))


def orders_of_java(sets: list[list[str]], folder: Path) -> list[list[str]]:
    """Have a JVM iterate over each set."""
    files = [folder / f"{number}.txt" for number in range(len(sets))]
    for file, names in zip(files, sets, strict=True):
        file.write_text("\n".join(names) + "\n")
    program = folder / "Order.java"
    program.write_text(PROGRAM)
    java = [str(find_java()), "-Dfile.encoding=UTF-8", "-XX:TieredStopAtLevel=1"]
    subprocess.run([*java, str(program), *map(str, files)], check=True, timeout=60)
    return [file.with_name(f"{file.name}.ordered").read_text().splitlines() for file in files]
