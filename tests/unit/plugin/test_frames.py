"""Offsets of a frame."""

from typing import Any, cast

from connect_dagster.plugin.frames import SourceFrame

NOTHING = cast("Any", None)


def test_each_place_has_its_offset_and_may_be_forgotten() -> None:
    frame = SourceFrame(NOTHING, {"table": "t"}, {"at": 1}, (({"table": "t", "snapshot": "id"}, None),))
    assert frame.offsets == (({"table": "t"}, {"at": 1}), ({"table": "t", "snapshot": "id"}, None))


def test_a_frame_of_no_place_keeps_no_offset() -> None:
    assert SourceFrame(NOTHING, {}, None).offsets == ()
