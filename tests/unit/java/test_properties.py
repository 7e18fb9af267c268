r"""The .properties format, alone and against a real Java."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from connect_dagster.embedded.java import find_java
from connect_dagster.errors import ConfigError
from connect_dagster.java.properties import load_properties, parse_properties, property_lines
from tests.golden_answers import Golden

AWKWARD = {
    "sasl.jaas.config": 'org.example.Module required username="a" password="p\\w:=#!";',
    "plugin.path": "C:\\plugins,/opt/한글",
    "key with spaces": "  leading",
    "lines": "one\ntwo\tthree",
    "empty": "",
}

# Loads each file; prints keys and values in hexadecimal, or that it is malformed.
PROGRAM = """
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

public class Load {
    public static void main(String[] args) throws Exception {
        for (int i = 0; Files.exists(Paths.get(args[0], "" + i)); i++) {
            StringBuilder line = new StringBuilder();
            try (InputStream in = Files.newInputStream(Paths.get(args[0], "" + i))) {
                Properties loaded = new Properties();
                loaded.load(in);
                for (Map.Entry<Object, Object> entry : loaded.entrySet())
                    line.append(hex(entry.getKey())).append('=').append(hex(entry.getValue())).append(' ');
            } catch (IllegalArgumentException e) {
                line.append("malformed");
            }
            System.out.println(line.toString().trim());
        }
    }

    static String hex(Object text) {
        return HexFormat.of().formatHex(text.toString().getBytes(StandardCharsets.UTF_8));
    }
}
"""


def hexadecimal(found: dict[str, str]) -> set[str]:
    return {f"{key.encode().hex()}={value.encode().hex()}" for key, value in found.items()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("name=local-file-source\ntopic = connect-test\n", {"name": "local-file-source", "topic": "connect-test"}),
        ("a:1\nb 2\nc\t=\t3\nd", {"a": "1", "b": "2", "c": "3", "d": ""}),
        ("# a=1\n  ! b=2\n\n c=3", {"c": "3"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("list=a,\\\n     b,\\\n     c\n", {"list": "a,b,c"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("path=C\\:\\\\temp\\tx", {"path": "C:\\temp\tx"}),
        ("my\\ key\\=x=1", {"my key=x": "1"}),
        ("a = = b", {"a": "= b"}),
        ("a=1 \n", {"a": "1 "}),
        ("a=1\na=2", {"a": "2"}),
        ("a=\\uC138\\ubc88", {"a": "세번"}),
        ("a=\\uD83D\\uDE00", {"a": "😀"}),
        ("listeners=HTTP://:18083", {"listeners": "HTTP://:18083"}),
        ("", {}),
    ],
)
def test_lines_are_read_as_java_reads_them(text: str, found: dict[str, str]) -> None:
    assert parse_properties(text, "x") == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=1\nb=\\u00G1x", "worker.properties, line 2: Malformed \\uxxxx encoding: \\u00G1"),
        ("a=1,\\\n2\n\nfile=C:\\users", "worker.properties, line 4: Malformed \\uxxxx encoding: \\users"),
    ],
)
def test_a_malformed_escape_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_properties(text, "worker.properties")
    assert str(raised.value) == message


@pytest.mark.parametrize("content", ["a=é세".encode(), b"\xef\xbb\xbf" + "a=é세".encode()])
def test_utf8_is_read_as_meant(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    assert load_properties(tmp_path / "x") == {"a": "é세"}


def test_what_is_not_utf8_is_read_as_java_reads_it(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a=caf\xe9")
    assert load_properties(tmp_path / "x") == {"a": "café"}


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load_properties(tmp_path / "none.properties")
    assert str(raised.value) == f"Cannot read {tmp_path}/none.properties: No such file or directory"


def test_any_text_is_read_as_a_real_java_reads_it(golden: Golden, tmp_path: Path) -> None:
    rng = random.Random(7)
    pieces = [*"abc=: \t\f\\\n\r#!", "\\\\", "\\\n", "\r\n", "\\u0041", "\\u4"]
    # Of a backslash alone on the last line Java makes an empty key; every text has a last line after it.
    texts = ["".join(rng.choices(pieces, k=rng.randint(0, 40))) + "\nz" for _ in range(500)]
    lines = golden.answer("loaded", lambda: loaded_by_java(texts, tmp_path))
    assert len(lines) == len(texts)
    for text, line in zip(texts, lines, strict=True):
        if line == "malformed":
            with pytest.raises(ConfigError, match="Malformed"):
                parse_properties(text, "x")
        else:
            assert hexadecimal(parse_properties(text, "x")) == set(line.split()), json.dumps(text)


def loaded_by_java(texts: list[str], folder: Path) -> list[str]:
    """Have a JVM load each text."""
    for number, text in enumerate(texts):
        (folder / str(number)).write_bytes(text.encode())
    (folder / "Load.java").write_text(PROGRAM)
    command: list[str | Path] = [find_java(), "-XX:TieredStopAtLevel=1", folder / "Load.java", folder]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, f"a JDK is needed to launch a source file:\n{ran.stderr}"
    return ran.stdout.split("\n")[:-1]


def test_whatever_is_written_is_read_back() -> None:
    assert parse_properties(property_lines(AWKWARD), "test") == AWKWARD
