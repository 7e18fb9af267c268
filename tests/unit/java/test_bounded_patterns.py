"""Users' regular expressions without a JVM: Java's syntax, and an end to each match."""

import threading

import pytest

from connect_dagster.java.bounded_patterns import (
    LONGEST_EXPRESSION,
    BoundedPattern,
    PatternSyntaxError,
    RunawayPatternError,
)


@pytest.mark.parametrize(
    ("expression", "text", "matches"),
    [
        (r"\p{L}+", "é", True),
        ("[a-z&&[^b]]+", "ac", True),
        ("[a-z&&[^b]]+", "ab", False),
        ("a++b", "aab", True),
        ("(?<n>a)b", "ab", True),
        ("ab", "abc", False),
    ],
)
def test_javas_syntax(expression: str, text: str, matches: bool) -> None:
    assert (BoundedPattern(expression).fullmatch(text) is not None) is matches


@pytest.mark.parametrize("expression", ["(", "a{2,1}", "(" * 5_000 + ")" * 5_000, "x" * (LONGEST_EXPRESSION + 1)])
def test_what_is_no_expression(expression: str) -> None:
    with pytest.raises(PatternSyntaxError):
        BoundedPattern(expression)


def test_a_runaway_match_ends_and_other_threads_run_meanwhile() -> None:
    ticks, ended = [0], threading.Event()

    def tick() -> None:
        while not ended.wait(0.01):
            ticks[0] += 1

    ticking = threading.Thread(target=tick)
    ticking.start()
    with pytest.raises(RunawayPatternError, match=r"^matching 'aaa.*…' takes longer than 0\.3 s$"):
        BoundedPattern("(a|aa)+$").fullmatch("a" * 120 + "!", 0.3)
    ended.set()
    ticking.join()
    assert ticks[0] > 3
