"""Every kind of fault of the schedule can be played."""

from tests.campaign.faults import PLAYS
from tests.campaign.schedule import KINDS


def test_each_kind_has_something_to_do() -> None:
    assert PLAYS.keys() == {kind.name for kind in KINDS}
