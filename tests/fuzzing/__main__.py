"""Fuzzing guided by coverage, with atheris: `python -m tests.fuzzing TARGET SECONDS`, `TARGET` of `targets.TARGETS`.

It ends with code 0 after its seconds, and with another one at the first finding, whose input and traceback it prints.
"""

import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-untyped]

with atheris.instrument_imports(include=["connect_dagster"]):
    from tests.fuzzing.targets import LARGE, TARGETS, Bounded

LONGEST = 4_096


def main(name: str, seconds: int) -> None:
    target = TARGETS[name]
    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(target.seeds):
            Path(folder, f"seed-{number}").write_bytes(seed)
        options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=2048", "-seed=1"]
        options += [f"-artifact_prefix={folder}/", "-print_final_stats=1", folder]
        atheris.Setup([name, *options], Bounded(target))
        atheris.Fuzz()


assert LONGEST <= LARGE
if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
