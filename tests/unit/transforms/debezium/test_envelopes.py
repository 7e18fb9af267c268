"""Which values are change events, and what a transform may return of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from connect_dagster.errors import ConfigError, ConnectError, DataError
from connect_dagster.plugin.frames import Frame, SinkFrame, SourceFrame
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaType
from connect_dagster.transforms.debezium.envelopes import (
    SplittingTransform,
    field_of,
    is_envelope,
    may_have_nulls,
)
from connect_dagster.transforms.debezium.options import optional_one_of
from tests.unit.transforms.debezium.change_events import ENVELOPE, ROW, struct

NOTHING = cast("Any", None)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (ENVELOPE, True),
        (None, False),
        (ROW, False),
        (STRING_SCHEMA, False),
        (replace(ENVELOPE, name="Envelope"), False),
        (replace(ENVELOPE, name="x.envelope"), False),
        (replace(STRING_SCHEMA, name="x.Envelope"), True),
    ],
)
def test_the_name_shows_an_envelope(schema: Schema | None, expected: bool) -> None:
    assert is_envelope(schema) is expected


def test_fields_of_structs() -> None:
    assert field_of(ENVELOPE, "op", SchemaType.STRING).schema == STRING_SCHEMA
    for name, type_, message in (
        ("no", None, "no is not a valid field name"),
        ("op", SchemaType.INT64, "Field 'op' is not of type INT64"),
    ):
        with pytest.raises(DataError) as error:
            field_of(ENVELOPE, name, type_)
        assert str(error.value) == message


@pytest.mark.parametrize(
    ("schema", "in_sink"), [(ENVELOPE, False), (replace(ENVELOPE, optional=True), True), (None, True)]
)
def test_where_tombstones_may_be(schema: Schema | None, in_sink: bool) -> None:
    assert may_have_nulls(SinkFrame(NOTHING, schema, None)) is in_sink
    assert may_have_nulls(SourceFrame(NOTHING, {}, {}, value_schema=schema))


def test_an_option_that_may_be_left_out() -> None:
    check = optional_one_of("one", "two")
    check("name", None)
    check("name", "ONE")
    with pytest.raises(ConfigError, match="Invalid value three for configuration name: String must be one of"):
        check("name", "three")


class Copies(SplittingTransform):
    """Returns a frame several times."""

    def configure(self, config: Mapping[str, str]) -> None:
        self.count = int(config["count"])

    def apply_split(self, frame: Frame) -> Sequence[Frame]:
        return [frame] * self.count


def test_a_frame_with_several_schemas_afterwards_needs_apply_split() -> None:
    frame, transform = SinkFrame(NOTHING, struct("x"), None), Copies()
    transform.configure({"count": "1"})
    assert transform.apply(frame) is frame
    transform.configure({"count": "2"})
    with pytest.raises(ConnectError, match="Copies gives these records several schemas, so apply_split is needed"):
        transform.apply(frame)
