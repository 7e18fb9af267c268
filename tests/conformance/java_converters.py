"""Java's JsonConverter in a process of its own: reads records and writes them again."""

import base64
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from connect_dagster.embedded.jars import resolve
from connect_dagster.embedded.java import find_java
from tests.golden_answers import Golden, digest

_PROGRAM = Path(__file__).with_name("ConvertersInJava.java")


@dataclass(frozen=True, slots=True)
class JavaAnswer:
    """What became of a record: the bytes written again and the printed value, or the error."""

    written: bytes | None = None
    text: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class JavaConverter:
    """Java's answers, recorded ones unless they are to be recorded or checked."""

    golden: Golden

    def round_trips(self, options: Mapping[str, str], records: Sequence[bytes]) -> list[JavaAnswer]:
        """Have Java read records and write what it read."""
        return self._ask(options, [f"record {base64.b64encode(record).decode()}" for record in records])

    def written_numbers(self, kind: str, numbers: Sequence[str]) -> list[JavaAnswer]:
        """Have Java write numbers of the kind ``double`` or ``float``."""
        return self._ask({}, [f"{kind} {number}" for number in numbers])

    def _ask(self, options: Mapping[str, str], lines: Sequence[str]) -> list[JavaAnswer]:
        key = f"{dict(options)} {digest(lines)}"
        answers = self.golden.answer(key, lambda: list(map(asdict, _asked(options, lines))))
        return [JavaAnswer(**one) for one in answers]


def _asked(options: Mapping[str, str], lines: Sequence[str]) -> list[JavaAnswer]:
    jars = os.pathsep.join(str(jar) for jar in resolve("java-connect"))
    command = [str(find_java()), "-Duser.timezone=UTC", "-cp", jars, str(_PROGRAM)]
    command += [word for option in options.items() for word in option]
    done = subprocess.run(
        command, input="\n".join(lines).encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120
    )
    done.check_returncode()
    return [_answer(line.split(" ")) for line in done.stdout.decode().splitlines()]


def _answer(words: Sequence[str]) -> JavaAnswer:
    if words[0] == "error":
        return JavaAnswer(error=_decoded(words[1]).decode())
    written = None if words[1] == "null" else _decoded(words[1])
    return JavaAnswer(written, _decoded(words[2]).decode())


def _decoded(word: str) -> bytes:
    return base64.b64decode(word, validate=True)
