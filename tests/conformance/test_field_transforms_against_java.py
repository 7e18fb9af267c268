"""Transforms of fields beside Java's own: thousands of generated records, equal results or equal errors.

What may differ is in ``field_transform_play.ALLOWED_DIFFERENCES``; further differences in what Java cannot write, and
in Java's own order of maps, are kept out of the cases: masked decimals of another scale, whole casts of logical values.
"""

import itertools
from collections.abc import Sequence
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.conformance import field_transform_cases as cases
from tests.conformance.converter_cases import DATE, STRING, envelope, struct
from tests.conformance.field_transform_play import Batch, Play
from tests.conformance.java_records import JavaRecords, Record
from tests.golden_answers import Golden

pytestmark = pytest.mark.timeout(600)

T = TypeVar("T")


def drawn(values: st.SearchStrategy[T], count: int) -> list[T]:
    """So many generated values, the same at each run."""
    found: list[T] = []

    @settings(
        max_examples=20,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(st.lists(values, min_size=count // 10, max_size=count // 10))
    def draw(some: list[T]) -> None:
        found.extend(some)

    draw()
    return found[-count:]


@pytest.fixture(scope="module")
def play(java: JavaRecords, spark: SparkSession) -> Play:
    return Play(java, spark)


def as_records(values: Sequence[bytes | None]) -> list[Record]:
    return [Record(value=value, timestamp=i * 1000 if i % 3 else None) for i, value in enumerate(values)]


def as_keys(values: Sequence[bytes | None]) -> list[Record]:
    return [Record(value=envelope(STRING, "v"), key=value) for value in values]


Case = tuple[str, dict[str, str]]


def first_of_each_class(all_cases: Sequence[Case]) -> list[Case | ParameterSet]:
    """All cases, those nightly that are not the first of their class."""
    first = {name: (name, config) for name, config in reversed(all_cases)}
    return [one if one == first[one[0]] else pytest.param(*one, marks=pytest.mark.nightly) for one in all_cases]


ON_STRUCTS: list[Case] = [
    ("ExtractField$Value", {"field": "city"}),
    ("ExtractField$Value", {"field": "city", "replace.null.with.default": "false"}),
    ("ExtractField$Value", {"field": "inner.deep.z", "field.syntax.version": "v2"}),
    ("ExtractField$Value", {"field": "inner.x.y", "field.syntax.version": "V2"}),
    ("ExtractField$Value", {"field": "inner.x"}),
    ("HoistField$Value", {"field": "line"}),
    ("HoistField$Value", {"field": ""}),
    ("InsertField$Value", {"topic.field": "t!", "partition.field": "p?", "timestamp.field": "ts"}),
    ("InsertField$Value", {"static.field": "who", "static.value": "me", "replace.null.with.default": "false"}),
    ("InsertField$Value", {"offset.field": "o"}),
    ("InsertField$Value", {"topic.field": "city"}),
    ("ReplaceField$Value", {"exclude": "raw,map,i8", "renames": "i16:short,i64:i8"}),
    ("ReplaceField$Value", {"include": "city,count,text,inner", "replace.null.with.default": "false"}),
    ("ReplaceField$Value", {"renames": "city:text"}),
    ("ReplaceField$Value", {"exclude": "i64", "renames": "i64:i8"}),
    ("ReplaceField$Value", {"exclude": "text", "renames": "text:city"}),
    ("ReplaceField$Value", {"renames": "none:city"}),
    ("MaskField$Value", {"fields": "i8,i16,i32,i64,f32,f64,flag,text,born,noon,seen,list,map,city,count"}),
    ("MaskField$Value", {"fields": "i8,i16,i32,i64,f32,f64,text,city", "replacement": "-77700.25"}),
    ("MaskField$Value", {"fields": "raw,inner", "replace.null.with.default": "false"}),
    ("MaskField$Value", {"fields": "inner,flag,born,list,map,raw", "replacement": "1"}),
    ("MaskField$Value", {"fields": "i32,text", "replacement": "x1"}),
    ("MaskField$Value", {"fields": "price", "replacement": "12.34"}),
    ("MaskField$Value", {"fields": "price", "replacement": "x"}),
    ("ValueToKey", {"fields": "city,i32,inner"}),
    ("ValueToKey", {"fields": "city,count", "replace.null.with.default": "false"}),
    ("ValueToKey", {"fields": "city,none"}),
    ("SetSchemaMetadata$Value", {"schema.name": "other.Name"}),
    ("SetSchemaMetadata$Value", {"schema.version": "9", "replace.null.with.default": "false"}),
    ("Flatten$Value", {}),
    ("Cast$Value", {"spec": "raw:int8"}),
    ("Cast$Value", {"spec": "list:string"}),
    ("Cast$Value", {"spec": "city:int32"}),
    ("Cast$Value", {"spec": "city:boolean,count:string,none:int8"}),
    ("Cast$Value", {"spec": "city:boolean,count:string", "replace.null.with.default": "false"}),
    ("Cast$Value", {"spec": "string"}),
]


@pytest.fixture(scope="module")
def structs(golden: Golden, play: Play) -> Batch:
    generated = golden.drawn("structs", lambda: drawn(cases.structs(), 100))
    return play.batch(as_records([*generated, envelope(STRING, "text")]))


@pytest.mark.parametrize(("name", "config"), first_of_each_class(ON_STRUCTS))
def test_structs(play: Play, structs: Batch, name: str, config: dict[str, str]) -> None:
    play.compare(name, config, structs)


ON_OBJECTS: list[Case] = [
    ("ExtractField$Value", {"field": "a"}),
    ("ExtractField$Value", {"field": "a.b.c", "field.syntax.version": "V2"}),
    ("ExtractField$Value", {"field": "`a.b`.c", "field.syntax.version": "V2"}),
    ("HoistField$Value", {"field": 'q"'}),
    ("InsertField$Value", {"topic.field": "topic!", "partition.field": "b", "timestamp.field": "c", "static.field": "s",
                           "static.value": 'a "b"'}),
    ("InsertField$Value", {"offset.field": "o"}),
    ("ReplaceField$Value", {"exclude": "a,text", "renames": "b:bee,c:see"}),
    ("ReplaceField$Value", {"include": "a,b,c", "renames": "a:b"}),
    ("MaskField$Value", {"fields": "a,b,none"}),
    ("MaskField$Value", {"fields": "a,text", "replacement": "42.75"}),
    ("MaskField$Value", {"fields": "a,b", "replacement": "x"}),
    ("ValueToKey", {"fields": "a,none,x y"}),
    ("SetSchemaMetadata$Value", {"schema.name": "n"}),
    ("Flatten$Value", {"delimiter": "_"}),
    *(("Cast$Value", {"spec": f"a:{kind},b:{kind}"}) for kind in ("int8", "int64", "float32", "boolean", "string")),
    *(("Cast$Value", {"spec": kind}) for kind in ("int32", "float64", "string")),
]  # fmt: skip


@pytest.fixture(scope="module")
def objects(golden: Golden, play: Play) -> Batch:
    generated = golden.drawn("objects", lambda: drawn(cases.OBJECTS, 200))
    return play.batch(as_records([*generated, *cases.SCHEMALESS_OTHERS]))


@pytest.mark.parametrize(("name", "config"), first_of_each_class(ON_OBJECTS))
def test_objects_without_schema(play: Play, objects: Batch, name: str, config: dict[str, str]) -> None:
    play.compare(name, config, objects)


ON_NULLS: list[Case] = [
    ("Cast$Value", {"spec": "i8:string"}),
    ("ExtractField$Value", {"field": "city"}),
    ("HoistField$Value", {"field": "h"}),
    ("InsertField$Value", {"topic.field": "t"}),
    ("MaskField$Value", {"fields": "i8"}),
    ("ReplaceField$Value", {"include": "i8,city"}),
    ("SetSchemaMetadata$Value", {"schema.name": "n"}),
    ("ValueToKey", {"fields": "i8"}),
]


@pytest.fixture(scope="module")
def nulls(golden: Golden, play: Play) -> Batch:
    optional = golden.drawn("optional structs", lambda: drawn(cases.structs(cases.ALL_OPTIONAL), 10))
    return play.batch(as_records([*optional, cases.NULL_STRUCT, *cases.OTHERS, None]))


@pytest.mark.parametrize(("name", "config"), first_of_each_class(ON_NULLS))
def test_nulls_and_what_has_no_fields(play: Play, nulls: Batch, name: str, config: dict[str, str]) -> None:
    play.compare(name, config, nulls)


SOURCES = ("i8", "i16", "i32", "i64", "f32", "f64", "flag", "price", "born", "noon", "seen")
TARGETS = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string")


def test_casts_between_all_types(golden: Golden, play: Play) -> None:
    payloads = golden.drawn("payloads", lambda: drawn(cases.PAYLOADS, 300))
    schemas = dict(cases.FIELDS)
    pairs = list(itertools.product(SOURCES, TARGETS))
    schema = struct(*((f"{source}_{target}", schemas[source]) for source, target in pairs))
    values = [
        envelope(schema, {f"{source}_{target}": payload[source] for source, target in pairs}) for payload in payloads
    ]
    spec = ",".join(f"{source}_{target}:{target}" for source, target in pairs)
    assert play.compare("Cast$Value", {"spec": spec}, as_records(values)) == 0


def test_casts_of_texts(play: Play) -> None:
    schema = struct(*((target, cases.optional(STRING)) for target in TARGETS))
    pairs = itertools.product(TARGETS, cases.NUMBER_TEXTS)
    values = [envelope(schema, {**dict.fromkeys(TARGETS), target: text}) for target, text in pairs]
    play.compare("Cast$Value", {"spec": ",".join(f"{one}:{one}" for one in TARGETS)}, as_records(values))


@pytest.fixture(scope="module")
def whole_values(play: Play) -> Batch:
    values = [
        *(envelope({"type": "string", "name": "n", "doc": "d"}, text) for text in cases.NUMBER_TEXTS),
        *(
            envelope({"type": "int64", "version": 2, "default": 3, "optional": True}, n)
            for n in (0, 300, -(2**40), None)
        ),
        *(envelope({"type": "double"}, n) for n in (0.5, -1e300, 77.5)),
        envelope({"type": "string", "default": "x"}, "1"),
        envelope({"type": "boolean"}, True),
        envelope({"type": "bytes"}, "AAEC"),
    ]
    return play.batch(as_records(values))


@pytest.mark.parametrize("target", TARGETS)
def test_casts_of_whole_values(play: Play, whole_values: Batch, target: str) -> None:
    play.compare("Cast$Value", {"spec": target}, whole_values)


WRONG_CONFIGS: list[Case] = [
    ("Cast$Value", {}),
    *(
        ("Cast$Value", {"spec": spec})
        for spec in (
            "",
            "a:int8,int8",
            "a:b:c",
            "a:",
            "a:foo",
            "a:array",
            "bytes",
            "a:bytes",
            "a : INT8 ,b:string ",
        )
    ),
    ("ExtractField$Value", {}),
    ("ExtractField$Value", {"field": "a", "field.syntax.version": "V3"}),
    *(("ExtractField$Value", {"field": path, "field.syntax.version": "V2"}) for path in ("`a", "a.`b\\`", "`a`.`b`c`")),
    ("HoistField$Value", {}),
    ("InsertField$Value", {}),
    ("InsertField$Value", {"topic.field": "t", "replace.null.with.default": "maybe"}),
    ("MaskField$Value", {}),
    ("MaskField$Value", {"fields": ""}),
    ("MaskField$Value", {"fields": "a", "replacement": ""}),
    ("ReplaceField$Value", {"renames": "a"}),
    ("ReplaceField$Value", {"renames": "a:b,c:d:e"}),
    ("ReplaceField$Value", {"exclude": "a,,b"}),
    ("ValueToKey", {}),
    ("SetSchemaMetadata$Value", {}),
    ("SetSchemaMetadata$Value", {"schema.version": "one"}),
]


@pytest.fixture(scope="module")
def object_alone(play: Play) -> Batch:
    return play.batch([Record(value=envelope(None, {"a": 1}))])


@pytest.mark.parametrize(("name", "config"), WRONG_CONFIGS)
def test_options_that_are_wrong(play: Play, object_alone: Batch, name: str, config: dict[str, str]) -> None:
    play.compare(name, config, object_alone)


def test_keys(play: Play) -> None:
    row = struct(("id", {"type": "int32"}), ("name", cases.optional(STRING)), name="k")
    keys = [envelope(row, {"id": n, "name": None}) for n in range(3)]
    free = [envelope(None, {"id": 1, "name": {"a": "b"}}), None]
    configs = [
        ("Cast$Key", {"spec": "id:string"}),
        ("ExtractField$Key", {"field": "id"}),
        ("Flatten$Key", {}),
        ("HoistField$Key", {"field": "h"}),
        ("InsertField$Key", {"topic.field": "t"}),
        ("MaskField$Key", {"fields": "id"}),
        ("ReplaceField$Key", {"renames": "id:key"}),
        ("SetSchemaMetadata$Key", {"schema.name": "x", "schema.version": "2"}),
    ]
    batch = play.batch(as_keys([*keys, *free]))
    for name, config in configs:
        play.compare(name, config, batch)


def test_what_only_sinks_know(play: Play) -> None:
    config = {"offset.field": "o!", "timestamp.field": "t", "partition.field": "p!"}
    values = [envelope(struct(("a", STRING)), {"a": "x"}), envelope(None, {"a": 1}), None]
    records = [
        Record(value=value, offset=7, partition=3, timestamp=t) for value in values for t in (None, 1642725853123)
    ]
    play.compare("InsertField$Value", config, records)


FLAT = struct(
    ("id", {"type": "int32"}),
    ("in", struct(("a", STRING), ("b", {"type": "int64", "default": 4}), ("l", {"type": "array", "items": STRING}))),
    ("opt", struct(("c", {**STRING, "doc": "c's"}), ("deep", struct(("d", DATE), name="deep")), optional=True)),
    name="flat",
    version=1,
)


def test_flattened_structs(play: Play) -> None:
    inside = {"a": "x", "b": 1, "l": ["y"]}
    values = [
        envelope(FLAT, {"id": 1, "in": inside, "opt": None}),
        envelope(FLAT, {"id": 1, "in": inside, "opt": {"c": "z", "deep": {"d": 3}}}),
        envelope(struct(("a", struct(("b", STRING))), ("a.b", STRING)), {"a": {"b": "1"}, "a.b": "2"}),
        envelope(struct(("a", STRING), optional=True), None),
    ]
    batch = play.batch(as_records(values))
    for config in ({}, {"delimiter": "_"}, {"delimiter": ""}):
        play.compare("Flatten$Value", config, batch)


def test_names_that_differ_in_case_alone_and_keys_that_are_there_twice(play: Play) -> None:
    row = struct(("a", STRING), ("A", {"type": "int32"}), ("in", struct(("b", STRING), ("B", STRING))))
    values = [
        envelope(row, {"a": "x", "A": 1, "in": {"b": "y", "B": "z"}}),
        envelope(None, {"a": "x", "A": 1, "in": {"b": "y", "B": "z"}}),
        b'{"schema":null,"payload":{"a":1,"a":"last","A":2,"in":{"B":1,"B":2}}}',
    ]
    configs = [
        ("Cast$Value", {"spec": "A:string"}),
        ("ExtractField$Value", {"field": "A"}),
        ("Flatten$Value", {}),
        ("InsertField$Value", {"topic.field": "TOPIC", "static.field": "topic", "static.value": "s"}),
        ("MaskField$Value", {"fields": "A"}),
        ("ReplaceField$Value", {"exclude": "a", "renames": "A:a"}),
        ("ValueToKey", {"fields": "A,a"}),
    ]
    batch = play.batch(as_records(values))
    for name, config in configs:
        play.compare(name, config, batch)
