"""SqlTransform: a Spark SQL select over each record, which Kafka Connect has nothing like.

Example:
    transforms.large.type=SqlTransform
    transforms.large.sql=SELECT value.id, upper(value.name) AS name, key AS _key FROM record WHERE value.price > 100

One ``SELECT … FROM record [WHERE …]``. A record has the columns ``topic``, ``partition``, ``key``, ``value``,
``timestamp`` (epoch milliseconds), ``headers`` (array of key and bytes) and, in sinks, ``offset``. Keys and values are
as their schema says, so ``value.id`` is a field; without one they are VARIANT: ``variant_get(value, '$.id', 'int')``.

The columns selected are the fields of the new value, their types its schema. Columns of these names go elsewhere:
``_topic``, ``_partition``, ``_timestamp`` and ``_key`` take the place of what the record has; ``_value`` is the value
itself, alone and not as a struct. Without a column for the value, the value stays. A tombstone stays one.

``WHERE`` leaves records out; ``explode`` makes several of one, or none. No joins (see ``LookupJoin``), no aggregates: a
record is all that a select sees. A record that has failed before stays one record, whatever the select does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.expressions import decimal_bytes
from connect_dagster.expressions.java_calls import column_of, has_jvm, jvm, scala_object
from connect_dagster.expressions.spark_schemas import connect_schema
from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frame_columns import FAILURE
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

_RECORD, _HELD = "record", "__record"
_COLUMNS = ("topic", "partition", "key", "value", "timestamp", "headers", "offset")
_PLACES: Mapping[str, tuple[str, str]] = {
    "_topic": ("topic", "string"),
    "_partition": ("partition", "int"),
    "_timestamp": ("timestamp", "bigint"),
}
_KEY, _VALUE = "_key", "_value"
# Functions that make several rows of a list.
_OF_A_LIST = frozenset({"explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer"})
_STACK = "stack"
_FORM = "It has to be one SELECT … FROM record [WHERE …]"


@dataclass(frozen=True, slots=True)
class _Generator:
    """The column of a select that makes several rows of one, or none.

    Attributes:
        index: its number among the columns.
        function: its name.
        arguments: as they are parsed, without the number of rows of a ``stack``.
        names: of its columns; none for Spark's.
        rows: the number of rows of a ``stack``.
    """

    index: int
    function: str
    arguments: tuple[Column, ...]
    names: tuple[str, ...]
    rows: int | None = None

    def once_where(self, failed: Column, df: DataFrame) -> Column:
        """Return the column that makes one row of a failed record, of the same types; for :meth:`first_where`.

        Args:
            failed: whether a record has failed.
            df: the records.
        """
        if self.rows is not None:
            return self._numbered_stack(self.rows)
        (values,) = self.arguments
        one = _list_of_one(df.select(values)._jdf.schema().apply(0).dataType())
        made = values if one is None else F.when(failed, one).otherwise(values)
        column = F.call_function(self.function, made)
        return column.alias(*self.names) if self.names else column

    def first_where(self, failed: Column, df: DataFrame) -> DataFrame:
        """Leave out all but the first row of failed records, where :meth:`once_where` makes several."""
        return df if self.rows is None else df.where(~failed | (F.col(self._row) == 0)).drop(self._row)

    @property
    def _row(self) -> str:
        return f"__row_{self.index}"

    def _numbered_stack(self, count: int) -> Column:
        """Return the rows of a ``stack`` with their numbers in a column before."""
        values, width = self.arguments, -(-len(self.arguments) // count)
        rows = [values[number * width : (number + 1) * width] for number in range(count)]
        numbered = [column for number, row in enumerate(rows) for column in (F.lit(number), *row)]
        names = self.names or tuple(f"col{number}" for number in range(width))
        return F.call_function(_STACK, F.lit(count), *numbered).alias(self._row, *names)


@dataclass(frozen=True, slots=True)
class _Select:
    """A parsed select.

    Attributes:
        columns: what it selects.
        condition: what it selects it of; ``None`` for all records.
        name: what it calls the records.
        generators: those of the columns that make several rows of one.
    """

    columns: tuple[Column, ...]
    condition: Column | None
    name: str
    generators: tuple[_Generator, ...]


def _with_spark_decimals(frame: Frame) -> Frame:
    """Return the frame with decimals that Spark can calculate with."""
    for name, schema in (("key", frame.key_schema), ("value", frame.value_schema)):
        if schema is None or not frame.has(name):
            continue
        made, column = decimal_bytes.all_scaled(schema, frame.column(name))
        if made is not schema:
            frame = frame.with_key(column, made) if name == "key" else frame.with_value(column, made)
    return frame


def _valid_sql(name: str, value: Any) -> None:
    """Return a select as this transform takes it; not looked at where no JVM runs, such as in a command."""
    if has_jvm():
        _parsed(name, value)


class SqlTransformConfig(ConfigDef):
    """Options of the transform."""

    sql: str = config_key(
        "sql",
        importance=Importance.HIGH,
        validator=_valid_sql,
        doc="SELECT … FROM record [WHERE …] in Spark SQL. Its columns are the fields of the new value; those called "
        "_key, _value, _topic, _partition and _timestamp take the place of these.",
    )


class SqlTransform(Transform):
    """Replaces each record by the result of a select."""

    config_def: ClassVar[type[ConfigDef]] = SqlTransformConfig
    version = "1.0"

    def configure(self, config: Mapping[str, str]) -> None:
        """Parse the select.

        Raises:
            ConfigError: it is none, or one of another form.
        """
        self._select = _parsed("sql", SqlTransformConfig.parse(config).sql)

    def apply(self, frame: Frame) -> Frame:
        """Return the frame after the select.

        Raises:
            DataError: the records have no such columns, or a column is of a type that Connect does not have.
        """
        frame = _with_spark_decimals(frame)
        try:
            selected = self._selected(frame)
            schema = selected.schema
        except AnalysisException as error:
            raise DataError(f"The select of SqlTransform cannot be applied: {_reason(error)}") from error
        return _written(frame, selected, schema)

    def _selected(self, frame: RecordFrame) -> DataFrame:
        columns = [_input(frame, name).alias(name) for name in _COLUMNS if name != "offset" or frame.has(name)]
        df = frame.df.select(F.struct("*").alias(_HELD), *columns).alias(self._select.name)
        failed = F.col(_HELD)[FAILURE].isNotNull() if frame.has(FAILURE) else None
        if self._select.condition is not None:
            df = df.where(self._select.condition if failed is None else failed | self._select.condition)
        if failed is None:
            return df.select(_HELD, *self._select.columns)
        listed = [*self._select.columns]
        for one in self._select.generators:
            listed[one.index] = one.once_where(failed, df)
        selected = df.select(_HELD, *listed)
        for one in self._select.generators:
            selected = one.first_where(failed, selected)
        return selected


def _input(frame: RecordFrame, name: str) -> Column:
    """Return a record's column as the select sees it."""
    column = frame.column(name)
    schemaless = {"key": frame.key_schema, "value": frame.value_schema}.get(name, "typed") is None
    return F.try_parse_json(column.cast("string")) if schemaless else column


def _written(frame: Frame, selected: DataFrame, schema: spark.StructType) -> Frame:
    """Return the records with what was selected in its place."""
    names = [field.name for field in schema if field.name != _HELD]
    if len(set(names)) < len(names):
        raise DataError(f"The select of SqlTransform has two columns of one name: {', '.join(names)}")
    types = {
        field.name: connect_schema(field.dataType, field.nullable, field.name)
        for field in schema
        if field.name in names and field.name not in _PLACES
    }
    made: dict[str, Column] = {
        target: F.col(name).cast(kind) for name, (target, kind) in _PLACES.items() if name in names
    }
    schemas: dict[str, Any] = {}
    if _KEY in types:
        made["key"], schemas["key_schema"] = F.col(_KEY).cast(types[_KEY].to_spark()), types[_KEY]
    fields = [SchemaField(name, types[name]) for name in names if name in types and name not in (_KEY, _VALUE)]
    if _VALUE in types and fields:
        raise DataError(f"The select of SqlTransform has _value and other fields: {', '.join(f.name for f in fields)}")
    if _VALUE in types:
        made["value"], schemas["value_schema"] = F.col(_VALUE).cast(types[_VALUE].to_spark()), types[_VALUE]
    elif fields:
        made["value"], schemas["value_schema"] = _struct(frame, fields)
    held = F.col(_HELD)
    kept = [held[name].alias(name) for name in frame.df.columns if name not in made]
    df = selected.select(*kept, *(column.alias(name) for name, column in made.items()))
    one_topic = {"topic": None} if "topic" in made and hasattr(frame, "topic") else {}
    changed = cast("Frame", replace(cast("Any", frame.with_rows(df)), **one_topic, **schemas))
    if "topic" in made and schema["_topic"].nullable:
        return changed.fail_where(F.col("topic").isNull(), "SqlTransform gave no topic")
    return changed


def _struct(frame: RecordFrame, fields: list[SchemaField]) -> tuple[Column, Schema]:
    """Return the new values, null for tombstones, and their schema."""
    optional = frame.value_schema is None or frame.value_schema.optional
    value = F.struct(*(F.col(f"`{one.name}`").cast(one.schema.to_spark()).alias(one.name) for one in fields))
    if optional:
        value = F.when(F.col(_HELD)["value"].isNotNull(), value)
    return value, Schema(SchemaType.STRUCT, optional, fields=tuple(fields))


def _parsed(option: str, sql: str) -> _Select:
    """Return the parts of a select.

    Raises:
        ConfigError: names the option and the error.
    """
    parser = scala_object(jvm().org.apache.spark.sql.catalyst.parser, "CatalystSqlParser")
    try:
        plan = parser.parsePlan(sql)
    except ParseException as error:
        raise ConfigError.invalid(option, sql, _reason(error)) from error
    selects, condition, name = plan, None, _RECORD
    plan = plan.child() if _is(plan, "Project") else None
    if plan is not None and _is(plan, "Filter"):
        condition, plan = column_of(plan.condition()), plan.child()
    if plan is not None and _is(plan, "SubqueryAlias"):
        name, plan = plan.alias(), plan.child()
    if plan is None or not _is(plan, "UnresolvedRelation") or plan.tableName().strip("`") != _RECORD:
        raise ConfigError.invalid(option, sql, _FORM)
    listed = _items(selects.projectList())
    generators = tuple(one for number, item in enumerate(listed) if (one := _generator(number, item)) is not None)
    return _Select(tuple(map(column_of, listed)), condition, name, generators)


def _generator(index: int, item: Any) -> _Generator | None:
    """Return the generator that an item of a select is; ``None`` for any other item."""
    names: tuple[str, ...] = ()
    while _is(item, "UnresolvedAlias") or _is(item, "Alias") or _is(item, "MultiAlias"):
        if not _is(item, "UnresolvedAlias"):
            names = (item.name(),) if _is(item, "Alias") else tuple(_items(item.names()))
        item = item.child()
    if not _is(item, "UnresolvedFunction"):
        return None
    function, arguments = _items(item.nameParts())[-1].lower(), _items(item.arguments())
    if function in _OF_A_LIST and len(arguments) == 1:
        (values,) = arguments
        given = values.value() if _is(values, "NamedArgumentExpression") else values
        return _Generator(index, function, (column_of(given),), names)
    if function == _STACK and len(arguments) > 1 and _is(arguments[0], "Literal"):
        rows = arguments[0].value()
        if isinstance(rows, int) and rows > 0:
            return _Generator(index, function, tuple(map(column_of, arguments[1:])), names, rows)
    return None


def _list_of_one(type: Any) -> Column | None:
    """Return an array or a map with one element of no meaning; ``None`` for a type that is neither."""

    def some(type: Any) -> Column:
        return column_of(scala_object(jvm().org.apache.spark.sql.catalyst.expressions, "Literal").default(type))

    if _is(type, "ArrayType"):
        return F.array(some(type.elementType()))
    return F.create_map(some(type.keyType()), some(type.valueType())) if _is(type, "MapType") else None


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(number) for number in range(sequence.size())]


def _is(plan: Any, kind: str) -> bool:
    return bool(plan.getClass().getSimpleName() == kind)


def _reason(error: AnalysisException) -> str:
    """Return Spark's message without the plan that follows it."""
    return str(error).strip().split("\n")[0]
