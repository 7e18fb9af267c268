"""Bytes that are no UTF-8, read by our file source and by Java's decoder: the same text."""

import itertools
import random
import subprocess
from pathlib import Path

from connect_dagster.embedded.java import find_java
from connect_dagster.java.utf8 import decode_replacing, utf16_units
from tests.golden_answers import Golden, digest

PROGRAM = Path(__file__).with_name("DecodeAsJava.java")
# One byte for each part that the decoder's rules tell apart.
BYTES = bytes.fromhex("0a 41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 f8 ff")
PART = 250
LEADS = bytes.fromhex("c0 c2 e0 e1 ed ef f0 f1 f4 f5 ff")


def test_every_kind_of_malformed_bytes(golden: Golden) -> None:
    chosen = random.Random(1)
    cases = [bytes(case) for length in (1, 2, 3) for case in itertools.product(BYTES, repeat=length)]
    cases += [bytes((lead, *case)) for lead in LEADS for case in itertools.product(BYTES, repeat=3)]
    cases += [bytes(chosen.choices(BYTES, k=chosen.randrange(4, 12))) for _ in range(20_000)]
    ours = [decode_replacing(case) for case in cases]
    assert [utf16_units(case) for case in cases] == [len(text.encode("utf-16-be")) // 2 for text in ours]
    # A megabyte of texts, so that digests of them are recorded.
    parts = range(0, len(cases), PART)
    javas = golden.answer(f"digests of {digest(cases)}", lambda: digests(decoded_by_java(cases)))
    different = [start for start, our, java in zip(parts, digests(ours), javas, strict=True) if our != java]
    assert [(start, cases[start], ours[start]) for start in different] == []


def digests(texts: list[str]) -> list[str]:
    return [digest(texts[start : start + PART]) for start in range(0, len(texts), PART)]


def decoded_by_java(cases: list[bytes]) -> list[str]:
    """Texts that Java reads."""
    lines = "".join(f"{case.hex()}\n" for case in cases)
    answer = subprocess.run(
        [find_java(), "-Xmx512m", PROGRAM], input=lines, capture_output=True, text=True, timeout=120, check=True
    )
    return [bytes.fromhex(line).decode("utf-16-be") for line in answer.stdout.split("\n")[:-1]]
