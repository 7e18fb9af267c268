"""Which ring shows which acceptance row: the table of docs/testing.md, written by `make docs`.

A test shows the rows that its name carries: `test_s1_02_...` shows S1-02, `test_lb_02_...` LB-02. Its ring is the
longest of its markers.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- rows -->\n", "<!-- end of rows -->\n"
GROUPS = {"S1": 47, "S2": 26, "S3": 12, "S4": 13, "S5": 29, "LB": 13}
ROWS = [f"{group}-{row:02}" for group, count in GROUPS.items() for row in range(1, count + 1)]
RINGS = ("test", "nightly", "soak")


def table() -> str:
    """Return a line for each row with its tests, by ring."""
    shown: dict[str, dict[str, set[str]]] = {row: {ring: set() for ring in RINGS} for row in ROWS}
    for file, name, ring in _tests():
        for group, row in re.findall(r"(?<=_)(s\d|lb)_(\d\d)(?=_|$)", f"_{name.removeprefix('test')}"):
            shown[f"{group.upper()}-{row}"][ring].add(file)
    lines = ["| row | `make test` | `make nightly` also | `make soak` |", "|---|---|---|---|"]
    for row, rings in shown.items():
        cells = (" ".join(sorted(f"`{file}`" for file in rings[ring])) for ring in RINGS)
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _tests() -> Iterator[tuple[str, str, str]]:
    """Yield the file of each test below tests/, its name, and its ring."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = [ast.unparse(node) for node in tree.body if ast.unparse(node).startswith("pytestmark")]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = " ".join([*module, *map(ast.unparse, node.decorator_list)])
                ring = next((ring for ring in ("soak", "nightly") if f"pytest.mark.{ring}" in marks), "test")
                yield path.relative_to(ROOT / "tests").as_posix(), node.name, ring


if __name__ == "__main__":
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
