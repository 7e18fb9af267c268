"""The lines of the benchmarks, and what topics must hold of them."""

import hashlib
import json
from pathlib import Path

from benchmarks.workload import Format, Workload, access_log


def test_the_log_is_the_same_each_time_and_no_line_comes_twice() -> None:
    lines = list(access_log(5000, 1))
    assert lines == list(access_log(5000, 1))
    assert len(set(lines)) == 5000
    assert 95 < sum(map(len, lines)) / 5000 < 110


def test_parts_hold_all_lines_between_them(tmp_path: Path) -> None:
    files = Workload(tmp_path, 10).files(4)
    assert [file.lines for file in files] == [3, 3, 2, 2]
    assert [len(file.path.read_text().splitlines()) for file in files] == [3, 3, 2, 2]


def test_json_values_are_those_of_kafka_connect() -> None:
    lines = ["plain", 'a "quoted" \\ word', "세번째"]
    values = Format.JSON.encode("".join(f"{line}\n" for line in lines).encode()).splitlines()
    assert values[0] == b'{"schema":{"type":"string","optional":false},"payload":"plain"}'
    assert [json.loads(value)["payload"] for value in values] == lines


def test_the_digest_of_strings_is_that_of_the_file(tmp_path: Path) -> None:
    (file,) = Workload(tmp_path, 1000).files(1)
    assert file.digest() == hashlib.sha256(file.path.read_bytes()).hexdigest()
    assert file.digest(Format.JSON) != file.digest()
