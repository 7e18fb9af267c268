from dagster import AssetKey, TableColumn, TableSchema

from connect_dagster.client.datasets import KafkaConnectFileProps, KafkaConnectTableProps
from connect_dagster.client.lineage import connector_lineage
from connect_dagster.orchestration.assets.columns import (
    column_lineage,
    columns_after,
    field_renames,
    upstream_of,
)
from tests.unit.client.test_lineage import DEBEZIUM
from tests.unit.orchestration.answers import SINK

REPLACE = "org.apache.kafka.connect.transforms.ReplaceField$Value"


def transforms(*types: str, **settings: str) -> dict[str, str | None]:
    aliases = [f"t{number}" for number in range(len(types))]
    kinds = {f"transforms.{alias}.type": kind for alias, kind in zip(aliases, types, strict=True)}
    given = {f"transforms.{key.replace('_', '.')}": value for key, value in settings.items()}
    return {"transforms": ",".join(aliases), **kinds, **given}


def test_without_transforms_columns_keep_their_names() -> None:
    assert field_renames({}) == {}


def test_renames_in_a_row_lead_from_the_first_name_to_the_last() -> None:
    config = transforms(REPLACE, REPLACE, t0_renames="a:b, x:y", t1_renames="b:c", t1_exclude="z")
    assert field_renames(config) == {"a": "c", "x": "y"}


def test_routers_do_not_touch_columns_and_others_make_them_untold() -> None:
    assert field_renames(transforms("org.apache.kafka.connect.transforms.RegexRouter")) == {}
    assert field_renames(transforms("org.apache.kafka.connect.transforms.Cast$Value")) is None
    assert field_renames(transforms("org.apache.kafka.connect.transforms.ReplaceField$Key")) is None
    assert field_renames(transforms(REPLACE, t0_predicate="p")) is None
    assert field_renames(DEBEZIUM) is None


def test_each_column_comes_from_the_one_of_its_old_name() -> None:
    topic = AssetKey("topic")
    columns = columns_after(TableSchema([TableColumn("a", "int32"), TableColumn("b", "string")]), {"a": "c"})
    assert [(one.name, one.type) for one in columns.columns] == [("c", "int32"), ("b", "string")]
    lineage = column_lineage(columns, topic, {"a": "c"}).deps_by_column
    assert {name: [dep.column_name for dep in deps] for name, deps in lineage.items()} == {"c": ["a"], "b": ["b"]}


def test_what_two_topics_write_has_no_one_upstream() -> None:
    file = KafkaConnectFileProps("/tmp/out.txt")
    assert upstream_of(connector_lineage({**SINK, "topics": "a,b"}), file) is None
    tables = connector_lineage(DEBEZIUM)
    assert upstream_of(tables, tables.outputs[0]) == KafkaConnectTableProps("mysql", ("ops", "customers"))
