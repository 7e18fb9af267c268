"""Topics that are deleted and created again, as their log tells of them."""

from __future__ import annotations

import logging

import pytest

from connect_dagster.storage.topic_sightings import TopicSightings

GONE = (
    "Topic 't' does not exist any more on the brokers: somebody has deleted it. This worker continues with the records "
    "that it has read, and can write no others"
)


def test_a_topic_is_missing_once_the_brokers_deny_it_for_two_seconds(caplog: pytest.LogCaptureFixture) -> None:
    seen = TopicSightings("t")
    found = []
    for id, now in (("A", 0.0), (None, 1.0), (None, 2.9), (None, 3.0), (None, 60.0)):
        seen.take(id, now)
        found.append((seen.seen, seen.missing))
    assert found == [(True, False), (False, False), (False, False), (False, True), (False, True)]
    assert caplog.messages == [GONE]


def test_a_topic_that_is_denied_for_a_moment_is_not_missing(caplog: pytest.LogCaptureFixture) -> None:
    seen = TopicSightings("t")
    for id, now in ((None, 0.0), ("A", 1.9), (None, 2.0), (None, 3.9), ("A", 4.0)):
        seen.take(id, now)
        assert not seen.missing
    assert seen.seen
    assert not seen.replaced
    assert caplog.messages == []


@pytest.mark.parametrize(("id", "replaced"), [("A", False), ("B", True)])
def test_a_topic_that_is_there_again_may_be_another_one(
    id: str, replaced: bool, caplog: pytest.LogCaptureFixture
) -> None:
    seen = TopicSightings("t")
    with caplog.at_level(logging.INFO):
        for each, now in (("A", 0.0), (None, 1.0), (None, 4.0), (id, 5.0), (id, 6.0)):
            seen.take(each, now)
    assert (seen.seen, seen.missing, seen.replaced) == (True, False, replaced)
    assert caplog.messages == [GONE, "Topic 't' exists again"]


def test_a_replaced_topic_stays_so_until_the_reader_has_begun_anew() -> None:
    """Another topic may take the place of one that nobody has missed."""
    seen = TopicSightings("t")
    for id in ("A", "B", "B"):
        seen.take(id, 0.0)
    assert seen.replaced
    seen.replaced = False
    seen.take("B", 1.0)
    assert not seen.replaced
