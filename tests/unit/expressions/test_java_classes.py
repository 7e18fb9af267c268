"""Java classes that are compiled in Spark's JVM."""

import functools
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from connect_dagster.expressions import java_classes


def test_threads_that_come_first_at_once_share_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a class for each, py4j called methods of one on objects of another, and each call failed from then on."""
    made: list[object] = []

    @functools.cache
    def slow(source: Path) -> object:
        time.sleep(0.2)
        made.append(source)
        return object()

    monkeypatch.setattr(java_classes, "_compiled_constructor", slow)
    source = Path("BoundedPattern.java")
    with ThreadPoolExecutor(4) as threads:
        found = {each.result() for each in [threads.submit(java_classes._constructor, source) for _ in range(4)]}
    assert len(found) == 1
    assert made == [source]
