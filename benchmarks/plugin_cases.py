"""Cases of plugins alone: each converter and each transform, with its options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.registry_converters import AVRO, JAVAS_AVRO

_TRANSFORMS = "org.apache.kafka.connect.transforms"
_CONVERTERS = "org.apache.kafka.connect.converters"


@dataclass(frozen=True, slots=True)
class Case:
    """One plugin.

    Attributes:
        name: for the table.
        java_class: whose name both sides know.
        options: what it is told.
        action: apply a transform, or write or read with a converter.
        counterpart: class that does it in Java, where that is another one.
        part: field of the record that a converter of single values writes; none for the whole record.
    """

    name: str
    java_class: str
    options: Mapping[str, str] = field(default_factory=dict)
    action: Literal["apply", "write", "read"] = "apply"
    part: str | None = None
    counterpart: str | None = None


def _transform(name: str, **options: str) -> Case:
    told = {key.replace("_", "."): value for key, value in options.items()}
    return Case(name, f"{_TRANSFORMS}.{name}", told)


def _converter(name: str, part: str | None = None, counterpart: str | None = None) -> tuple[Case, Case]:
    told = {"converter.type": "value"}
    simple = name.rpartition(".")[2]
    return (
        Case(f"{simple} writes", name, told, "write", part, counterpart),
        Case(f"{simple} reads", name, told, "read", part, counterpart),
    )


CASES: tuple[Case, ...] = (
    _transform("Cast$Value", spec="id:int32,score:float32,active:string"),
    _transform("DropHeaders", headers="h"),
    _transform("ExtractField$Value", field="name"),
    _transform("Flatten$Value", delimiter="_"),
    _transform("HeaderFrom$Value", fields="name", headers="name", operation="copy"),
    _transform("HoistField$Value", field="record"),
    _transform("InsertField$Value", static_field="source", static_value="shop", topic_field="topic"),
    _transform("InsertHeader", header="source", value_literal="shop"),
    _transform("MaskField$Value", fields="name,score"),
    _transform("RegexRouter", regex="(.*)", replacement="shop-$1"),
    _transform("ReplaceField$Value", exclude="score", renames="name:customer"),
    _transform("SetSchemaMetadata$Value", schema_name="shop.Order", schema_version="2"),
    _transform("TimestampConverter$Value", field="at", target_type="string", format="yyyy-MM-dd HH:mm:ss"),
    _transform("TimestampRouter", topic_format="${topic}-${timestamp}", timestamp_format="yyyyMMdd"),
    _transform("ValueToKey", fields="id"),
    *_converter("org.apache.kafka.connect.json.JsonConverter"),
    *_converter(AVRO, counterpart=JAVAS_AVRO),
    *_converter("org.apache.kafka.connect.storage.StringConverter", "name"),
    *_converter(f"{_CONVERTERS}.LongConverter", "id"),
    *_converter(f"{_CONVERTERS}.DoubleConverter", "score"),
    *_converter(f"{_CONVERTERS}.BooleanConverter", "active"),
)
