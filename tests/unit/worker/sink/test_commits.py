"""The commits of a sink task, with a clock in hand."""

import logging

import pytest

from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.sink.commits import Commits

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def commits(clock: Clock) -> Commits:
    return Commits(interval=10, timeout=3, task="c-0", clock=clock)


def test_a_commit_is_due_at_each_interval(commits: Commits, clock: Clock) -> None:
    assert not commits.due()
    clock.now = 10
    assert commits.due()
    commit = commits.started({FIRST: 5})
    assert commit is not None
    commits.ended(commit, None)
    clock.now = 19.9
    assert not commits.due()
    clock.now = 20
    assert commits.due()


def test_only_what_changed_is_committed(commits: Commits) -> None:
    commits.begin({FIRST: 5, SECOND: 7})
    assert commits.started({FIRST: 5, SECOND: 7}) is None
    commit = commits.started({FIRST: 5, SECOND: 8})
    assert commit is not None
    assert commit.offsets == {SECOND: 8}
    commits.ended(commit, None)
    assert commits.committed == {FIRST: 5, SECOND: 8}


def test_an_offset_that_went_back_is_committed(commits: Commits) -> None:
    commits.begin({FIRST: 5})
    commit = commits.started({FIRST: 2})
    assert commit is not None
    assert commit.offsets == {FIRST: 2}


def test_one_commit_at_a_time(commits: Commits, clock: Clock) -> None:
    assert commits.started({FIRST: 1}) is not None
    assert commits.waiting
    clock.now = 100
    assert not commits.due()


def test_a_refused_commit_is_made_again(commits: Commits, caplog: pytest.LogCaptureFixture) -> None:
    commit = commits.started({FIRST: 1})
    assert commit is not None
    commits.ended(commit, RuntimeError("rebalance in progress"))
    assert "rebalance in progress" in caplog.text
    again = commits.started({FIRST: 1})
    assert again is not None
    assert again.offsets == {FIRST: 1}


def test_a_late_answer_says_nothing_about_the_next_commit(
    commits: Commits, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    late = commits.started({FIRST: 1})
    assert late is not None
    clock.now = 3.1
    commits.check_timeout()
    assert "Commit of offsets timed out" in caplog.text
    commits.ended(late, None)
    following = commits.started({FIRST: 2})
    assert following is not None
    commits.ended(late, None)
    assert commits.waiting
    commits.ended(following, RuntimeError("no"))
    assert commits.committed == {}


def test_an_answer_in_time_is_no_timeout(commits: Commits, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    commit = commits.started({FIRST: 1})
    assert commit is not None
    clock.now = 2.9
    commits.check_timeout()
    commits.ended(commit, None)
    clock.now = 50
    commits.check_timeout()
    assert caplog.text == ""


def test_partitions_that_went_to_others_are_forgotten(commits: Commits) -> None:
    commits.begin({FIRST: 5, SECOND: 7})
    commits.forget([FIRST])
    assert commits.committed == {SECOND: 7}
