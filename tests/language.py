"""Refuses the phrases that this project does not write: `python -m tests.language`, a part of `make lint`.

It reads docstrings, comments and texts of Python files, and Markdown as a whole. A phrase that is Kafka's own stays
where a message must equal Java's: list that message in `KAFKAS`.
"""

import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHECKED = ("connect_dagster", "examples", "benchmarks", "docs", "README.md")
# Each pattern with what to write in its place.
PHRASES = {
    r'^[rR]?"""(Tells|Says|Answers|What|Who|Whether|Lets|Stands)\b': "an imperative verb and its object",
    r"\bfor ever\b": "forever",
    r"\banew\b": "again",
    r"\bhangs? on\b": "depends on",
    r"\bso many(eth|ieth)?\b|\bso manieth\b": "the number: `n`, `count`",
    r"\b(is|are) no (?!longer\b|more\b|later\b|less\b|fewer\b|other\b|effect\b)[a-z]": "is not a",
    r"\bof (one's|its|their|his|your) own\b": "own, separate, custom",
    r"\btells\b": "reports, logs, passes",
    r"\bwhoever\b": "the actor's name",
    r"\blikewise\b": "also, the same",
    r"\bbesides\b": "also, except",
    r"\b(is|are|was|were) wanted\b": "the actor and what it needs",
}
KAFKAS: tuple[str, ...] = ("was provided but there is no config",)

_PATTERNS = {re.compile(pattern): plain for pattern, plain in PHRASES.items()}
_TEXTS = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def findings() -> Iterator[str]:
    """Yield one line for each phrase, as `file:line: phrase -> what to write`."""
    for path in _files():
        name = path.relative_to(ROOT).as_posix()
        for start, text in _texts(path):
            for kafkas in KAFKAS:
                text = text.replace(kafkas, "")
            for pattern, plain in _PATTERNS.items():
                for found in pattern.finditer(text):
                    line = start + text.count("\n", 0, found.start())
                    yield f"{name}:{line}: {found[0]!r} -> {plain}"


def _files() -> Iterator[Path]:
    for name in CHECKED:
        top = ROOT / name
        found = [top] if top.is_file() else sorted({*top.rglob("*.py"), *top.rglob("*.md")})
        yield from (path for path in found if "__pycache__" not in path.parts)


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each text of a file with the number of its first line."""
    if path.suffix == ".md":
        yield 1, path.read_text(encoding="utf-8")
        return
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in _TEXTS:
                yield token.start[0], token.string


if __name__ == "__main__":
    found = list(findings())
    print(*found, sep="\n", end="\n" if found else "")  # noqa: T201 (a program prints)
    sys.exit(bool(found))
