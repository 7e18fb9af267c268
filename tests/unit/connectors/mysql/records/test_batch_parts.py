import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.records.batch_parts import parts
from connect_dagster.plugin.frames import SourceTable

PARTITION, OFFSET = {"server": "shop"}, {"file": "binlog.000001", "pos": 157}


def batch(count: int) -> SourceTable:
    table = pa.table({"value": [f"row {number}" for number in range(count)]})
    return SourceTable(table, PARTITION, OFFSET, ((PARTITION, OFFSET),), topic="shop.goods")


@given(count=st.integers(0, 200), most_bytes=st.integers(1, 4_000))
def test_parts_have_all_records_in_order_and_the_last_one_the_offsets(count: int, most_bytes: int) -> None:
    whole = batch(count)
    made = list(parts(whole, most_bytes))
    assert pa.concat_tables([one.table for one in made]).equals(whole.table)
    assert [one.offsets for one in made[:-1]] == [()] * (len(made) - 1)
    assert made[-1].offsets == whole.offsets
    assert {one.topic for one in made} == {"shop.goods"}


def test_a_batch_that_is_small_enough_is_one_part() -> None:
    whole = batch(100)
    (made,) = parts(whole, whole.table.nbytes)
    assert made == whole


def test_parts_are_of_about_the_size_that_is_allowed() -> None:
    whole = batch(1_000)
    sizes = [len(one.table) for one in parts(whole, whole.table.nbytes // 4)]
    assert sizes == [200] * 5
