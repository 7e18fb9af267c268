"""Calls of the Java classes behind Kafka Connect's options, within Spark's plans and outside.

Patterns of ``SimpleDateFormat`` have Java's meaning, lenient parsing included. Spark runs on a JVM that has these
classes: a plan calls them there, for each record, without a detour through Python. Its own functions differ
(``date_format`` knows another pattern language), or cost more for each record.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, TypeVarTuple

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

log = logging.getLogger(__name__)

Arguments = TypeVarTuple("Arguments")
Made = TypeVar("Made")

_STRING, _DATE = "java.lang.String", "java.util.Date"
_FUNCTION = "java.util.function.Function"
_UTF8 = "org.apache.spark.unsafe.types.UTF8String"
_JSON_ENCODER = "com.fasterxml.jackson.core.io.JsonStringEncoder"
_JACKSON = "com.fasterxml.jackson.databind."
_JSON_NODE = f"{_JACKSON}JsonNode"
_BIG_DECIMAL, _BIG_INTEGER = "java.math.BigDecimal", "java.math.BigInteger"
_DECIMAL = "org.apache.spark.sql.types.Decimal"
_TASK_CONTEXT = "org.apache.spark.TaskContext"
_STRING_UTILS = "org.apache.commons.lang3.StringUtils"
_UTF8_CHECK = "com.google.common.base.Utf8"


def kept_in_jvm(size: int) -> Callable[[Callable[[*Arguments], Made]], Callable[[*Arguments], Made]]:
    """Return a decorator for a function that makes expressions: tasks share what it has made of equal arguments.

    Args:
        size: how many results are kept, the last ones used.
    """

    def decorated(make: Callable[[*Arguments], Made]) -> Callable[[*Arguments], Made]:
        @functools.lru_cache(maxsize=size)
        def kept(_: Any, *arguments: *Arguments) -> Made:
            return make(*arguments)

        @functools.wraps(make)
        def use(*arguments: *Arguments) -> Made:
            return kept(jvm(), *arguments)

        return use

    return decorated


class JavaRefusalError(Exception):
    """A Java class threw.

    Attributes:
        java_name: the class of Java's exception.
        message: its text.
    """

    def __init__(self, error: Py4JJavaError | CapturedException) -> None:
        thrown: Any = error.java_exception if isinstance(error, Py4JJavaError) else error._origin
        self.java_name: str = thrown.getClass().getName()
        self.message: str = thrown.getMessage() or ""
        super().__init__(self.message)


class SimpleDateFormat:
    """A format of points in time in UTC (Java: ``java.text.SimpleDateFormat``).

    Raises:
        JavaRefusalError: it is not a valid pattern.
    """

    def __init__(self, pattern: str) -> None:
        self._format = _made(_java("java.text.SimpleDateFormat"), pattern)
        self._format.setTimeZone(_java("java.util.TimeZone").getTimeZone("UTC"))

    def text(self, milliseconds: Column) -> Column:
        """Return the text of epoch milliseconds (a column of longs)."""
        date = _new(_DATE, expression(milliseconds.cast("long")))
        return F.when(milliseconds.isNotNull(), _as_string(_call(_constant(self._format), "format", _STRING, date)))

    def milliseconds(self, text: Column) -> Column:
        """Return epoch milliseconds of text; null where it does not begin with such a date."""
        parsed = _call(_constant(self._format), "parse", _DATE, _as_java(F.coalesce(text, F.lit(""))))
        tried = _java(f"{_EXPRESSIONS}TryEval")(parsed)
        return F.when(text.isNotNull(), column_of(_invoked(tried, "getTime", _spark_type("LongType"))))


class TaskCounters:
    """Counters that begin at zero in each Spark task (Java: ``AtomicLongArray``, of which each task has a copy).

    Args:
        count: how many there are.
    """

    def __init__(self, count: int) -> None:
        self._counts = _java("java.util.concurrent.atomic.AtomicLongArray")(count)

    def after_adding(self, place: int, amount: Column) -> Column:
        """Return a counter's value after it has grown, once for each record.

        Args:
            place: of the counter, from 0.
            amount: by which it grows (a column of longs).
        """
        return self._read("addAndGet", F.lit(place), amount.cast("long"))

    def value(self, place: int) -> Column:
        """Return a counter's value."""
        return self._read("get", F.lit(place))

    def _read(self, method: str, *arguments: Column) -> Column:
        return _changing(_constant(self._counts), method, _spark_type("LongType"), *map(expression, arguments))


def tasks_of_stage() -> Column:
    """Return the number of Spark tasks that evaluate a plan's last stage; one where no job does (``TaskContext``)."""
    context = _static(_TASK_CONTEXT, "get", _object_type(_TASK_CONTEXT))
    count = column_of(_invoked(context, "numPartitions", _spark_type("IntegerType")))
    return F.coalesce(count, F.lit(1))


class RecordCounter:
    """A count of the records that come by a place of a plan, in all its Spark tasks (Spark: ``LongAccumulator``).

    Args:
        size: bytes of a record.
    """

    def __init__(self, size: Column) -> None:
        self._total = _active_context()._jsc.sc().longAccumulator()
        add = _java("java.util.HashMap")()
        add.put("add", expression(size.cast("long")))
        # Its `add` returns nothing, which Spark calls for properties of Java beans alone.
        bean = _java(f"{_EXPRESSIONS}objects.InitializeJavaBean")
        counted = bean(_constant(self._total), _java("org.apache.spark.api.python.PythonUtils").toScalaMap(add))
        self.condition: Column = ~_changing(counted, "isZero", _spark_type("BooleanType"))
        """True for each record, once it is counted."""

    @property
    def records(self) -> int:
        """Return the count of all plans that have run."""
        return int(self._total.count())

    @property
    def bytes(self) -> int:
        """Return the sum of their sizes."""
        return int(self._total.sum())

    def reset(self) -> None:
        """Count from nothing; no plan may run."""
        self._total.reset()


def text_function(function: Any, text: Column) -> Column:
    """Return the text that a Java function makes of another; null where it makes none, and of null.

    Args:
        function: a ``java.util.function.Function`` from string to string, serializable.
        text: its argument.
    """
    target = _java(f"{_EXPRESSIONS}Literal")(function, _object_type(_FUNCTION))
    made = _as_string(_call(target, "apply", _STRING, _as_java(F.coalesce(text, F.lit("")))))
    return F.when(text.isNotNull(), made)


@dataclass(frozen=True, slots=True)
class JavaText:
    """A text within a plan as Java's string, so that one method takes what another returns without a copy.

    Make none where :func:`has_java_text` is false.
    """

    _java: Any

    @classmethod
    def of(cls, text: Column) -> JavaText:
        """Return the text of a string column."""
        return cls(_as_java(text))

    def replaced(self, search: str, replacement: str) -> JavaText:
        """Return the text with each occurrence replaced (Java: ``StringUtils.replace``)."""
        string = _object_type(_STRING)
        parts = (_java(f"{_EXPRESSIONS}Literal").fromObject(part, string) for part in (search, replacement))
        return JavaText(_static(_STRING_UTILS, "replace", string, self._java, *parts))

    def json_characters(self) -> Column:
        """Return what Jackson writes between the quotes, as bytes; supplementary characters are not escaped."""
        encoder = _static(_JSON_ENCODER, "getInstance", _object_type(_JSON_ENCODER))
        return column_of(_invoked(encoder, "quoteAsUTF8", _spark_type("BinaryType"), self._java))

    def column(self) -> Column:
        """Return the text as a string column."""
        return _as_string(self._java)


def has_java_text() -> bool:
    """Return whether Spark has the parts that :class:`JavaText` is made of, which belong to no public interface."""
    return has_jvm() and _has_java_text(jvm(), _JSON_ENCODER, _STRING_UTILS)


@functools.lru_cache(maxsize=8)
def _has_java_text(_: Any, *names: str) -> bool:
    def make() -> None:
        encoder, utils = (_class(name) for name in names)
        string = _class(_STRING)
        _method(encoder, "getInstance")
        _method(encoder, "quoteAsUTF8", string)
        _method(utils, "replace", string, string, string)
        # Spark's own part: its expressions have other constructors in other versions.
        text = JavaText.of(F.lit("")).replaced("a", "b")
        text.json_characters()
        text.column()

    return _are_there(make, "JSON strings are written and read by Spark's functions alone")


def decimal_of_bytes(data: Column, precision: int, scale: int) -> Column:
    """Return decimals of the bytes of their unscaled values, of which there is at least one (Java: ``BigInteger``).

    Args:
        data: bytes.
        precision: most digits; a number with more is null.
        scale: digits after the point.
    """
    kind = _java("org.apache.spark.sql.types.DecimalType")(precision, scale)
    number = _new(_BIG_DECIMAL, _new(_BIG_INTEGER, expression(data)), expression(F.lit(scale)))
    checked = _java(f"{_EXPRESSIONS}CheckOverflow")(_static(_DECIMAL, "apply", kind, number), kind, True)
    return column_of(checked)


def unscaled_bytes(decimal: Column, scale: int) -> Column:
    """Return the bytes of the unscaled values of decimals (Java: ``BigInteger.toByteArray``).

    Args:
        decimal: decimals.
        scale: digits after the point.
    """
    number = _call(expression(decimal), "toJavaBigDecimal", _BIG_DECIMAL)
    scaled = _call(number, "setScale", _BIG_DECIMAL, expression(F.lit(scale)))
    unscaled = _call(scaled, "unscaledValue", _BIG_INTEGER)
    return column_of(_invoked(unscaled, "toByteArray", _spark_type("BinaryType")))


def is_utf8(data: Column) -> Column:
    """Return whether bytes are UTF-8; null of null.

    Guava passes over ASCII several times as fast as Spark's ``is_valid_utf8``, which looks each byte up; without
    Guava's method, Spark is asked.

    Args:
        data: bytes, or a text that was cast from them.
    """
    if has_jvm() and _has_utf8_check(jvm(), _UTF8_CHECK):
        return _is_well_formed(_UTF8_CHECK, data.cast("binary"))
    return F.is_valid_utf8(data.cast("string"))


@functools.lru_cache(maxsize=8)
def _has_utf8_check(_: Any, name: str) -> bool:
    def make() -> None:
        _method(_class(name), "isWellFormed", _class("[B"))
        _is_well_formed(name, F.lit(bytearray()))

    return _are_there(make, "UTF-8 is checked by Spark's function alone")


def _is_well_formed(name: str, data: Column) -> Column:
    return column_of(_static(name, "isWellFormed", _spark_type("BooleanType"), expression(data)))


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A JSON value within a plan, as Jackson reads it (Java: ``JsonNode``); null where there is none.

    Make none where :func:`has_json_nodes` is false.
    """

    _java: Any

    @classmethod
    def read(cls, value: Column, start: int, length: Column) -> JsonNode:
        """Return the JSON in a part of a binary column; null where that is malformed, or more than one value.

        Args:
            value: UTF-8.
            start: first byte of the part, from 0.
            length: bytes of the part (a column of integers).
        """
        part = map(expression, (value, F.lit(start), length))
        read = _call(_constant(_json_reader()), "readTree", _JSON_NODE, *part)
        return cls(_java(f"{_EXPRESSIONS}TryEval")(read))

    def member(self, name: str) -> JsonNode:
        """Return a member of an object; null where it is absent, the last one where there are several."""
        named = _java(f"{_EXPRESSIONS}Literal").fromObject(name, _object_type(_STRING))
        return JsonNode(_call(self._java, "get", _JSON_NODE, named))

    def is_nothing(self) -> Column:
        """Return whether a value is absent, or JSON's null."""
        return F.coalesce(self._flag("isNull"), F.lit(True))

    def is_object(self) -> Column:
        """Return whether it is an object; null where it is absent."""
        return self._flag("isObject")

    def string(self) -> Column:
        """Return a string; null where it is another value."""
        return _as_string(_call(self._java, "textValue", _STRING))

    def boolean(self) -> Column:
        """Return a boolean; null where it is another value."""
        return F.when(self._flag("isBoolean"), self._flag("booleanValue"))

    def long(self) -> Column:
        """Return an integer of 64 bits; null where it is another value."""
        fits = self._flag("isIntegralNumber") & self._flag("canConvertToLong")
        return F.when(fits, column_of(_invoked(self._java, "longValue", _spark_type("LongType"))))

    def double(self) -> Column:
        """Return a number; null where it is another value."""
        return F.when(self._flag("isNumber"), column_of(_invoked(self._java, "doubleValue", _spark_type("DoubleType"))))

    def _flag(self, method: str) -> Column:
        return column_of(_invoked(self._java, method, _spark_type("BooleanType")))


@kept_in_jvm(1)
def _json_reader() -> Any:
    """Return a reader that refuses text behind a value."""
    reader = _java(f"{_JACKSON}ObjectMapper")().reader()
    return getattr(reader, "with")(_java(f"{_JACKSON}DeserializationFeature").FAIL_ON_TRAILING_TOKENS)


def has_json_nodes() -> bool:
    """Return whether Spark has the parts that :class:`JsonNode` is made of, which belong to no public interface."""
    return has_jvm() and _has_json_nodes(jvm(), _JSON_NODE)


@functools.lru_cache(maxsize=8)
def _has_json_nodes(_: Any, node_class: str) -> bool:
    def make() -> None:
        _class(node_class)
        node = JsonNode.read(F.lit(bytearray(b"{}")), 0, F.lit(2)).member("a")
        for part in (node.is_nothing(), node.is_object(), node.string(), node.boolean(), node.long(), node.double()):
            expression(part)

    return _are_there(make, "JSON objects are read by Spark's parser alone")


def _are_there(make: Callable[[], None], otherwise: str) -> bool:
    """Return whether parts that belong to no public interface are there; where not, log what is done instead."""
    try:
        make()
    except (Py4JError, CapturedException, TypeError, AttributeError) as error:
        log.debug("%s: %s", otherwise, error)
        return False
    return True


def jvm() -> Any:
    """Return Spark's JVM.

    Raises:
        RuntimeError: Spark does not run in this process.
    """
    return _active_context()._jvm


def _active_context() -> Any:
    context = SparkContext._active_spark_context
    if context is None or context._jvm is None:
        raise RuntimeError("Spark does not run in this process, so no Java class can be asked")
    return context


def has_jvm() -> bool:
    """Return whether Java classes can be asked."""
    return SparkContext._active_spark_context is not None


def expression(column: Column) -> Any:
    """Return Spark's Java object of a column."""
    return _java(_EXPRESSION_UTILS).expression(column._jc)


def column_of(expression: Any) -> Column:
    """Return a column of Spark's own form."""
    return Column(_java(_EXPRESSION_UTILS).column(expression))


_EXPRESSION_UTILS = "org.apache.spark.sql.classic.ExpressionUtils"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."


@kept_in_jvm(64)
def _java(name: str) -> Any:
    """Return a Java class by its name, which takes py4j a call for each part of it."""
    return functools.reduce(getattr, name.split("."), jvm())


@kept_in_jvm(64)
def _spark_type(name: str) -> Any:
    return scala_object(_java("org.apache.spark.sql.types"), name)


@kept_in_jvm(64)
def _class(name: str) -> Any:
    return _java("java.lang.Class").forName(name)


@kept_in_jvm(64)
def _object_type(name: str) -> Any:
    return _java("org.apache.spark.sql.types.ObjectType")(_class(name))


def _made(make: Any, *arguments: Any) -> Any:
    try:
        return make(*arguments)
    except (Py4JJavaError, CapturedException) as error:
        raise JavaRefusalError(error) from error


def _constant(java_object: Any) -> Any:
    return _java(f"{_EXPRESSIONS}Literal").fromObject(java_object)


def sequence(*items: Any) -> Any:
    """Return Java objects as a sequence of Scala's."""
    found = _java("java.util.ArrayList")()
    for item in items:
        found.add(item)
    return _java("scala.jdk.javaapi.CollectionConverters").asScala(found).toSeq()


def scala_object(package: Any, name: str) -> Any:
    """Return the one instance of a Scala object.

    Args:
        package: of Java, or the class that holds it.
        name: without the ``$`` that Java sees.
    """
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def writable_field(java_object: Any, name: str) -> Any:
    """Return a field of an object's class, which may be written though it is a value in Scala.

    Args:
        java_object: of a class that declares the field itself.
        name: of the field.

    Raises:
        Py4JError: there is none.
    """
    field = java_object.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field


def _nobody() -> Any:
    return _java("scala.Option").empty()


def _invoked(target: Any, method: str, result: Any, *arguments: Any) -> Any:
    invoke = _java(f"{_EXPRESSIONS}objects.Invoke")
    return invoke(target, method, result, sequence(*arguments), sequence(), True, True, True)


def _changing(target: Any, method: str, result: Any, *arguments: Any) -> Column:
    """Call a method that changes its object: Spark neither moves such an expression nor evaluates it twice."""
    invoke = _java(f"{_EXPRESSIONS}objects.Invoke")
    return column_of(invoke(target, method, result, sequence(*arguments), sequence(), False, False, False))


def _call(target: Any, method: str, result_class: str, *arguments: Any) -> Any:
    return _invoked(target, method, _object_type(result_class), *arguments)


def _new(class_name: str, *arguments: Any) -> Any:
    make = _java(f"{_EXPRESSIONS}objects.NewInstance")
    kind = _object_type(class_name)
    return make(_class(class_name), sequence(*arguments), sequence(), True, kind, _nobody())


def _as_java(text: Column) -> Any:
    return _call(expression(text), "toString", _STRING)


def _as_string(java_text: Any) -> Column:
    return column_of(_static(_UTF8, "fromString", _spark_type("StringType"), java_text))


def _static(class_name: str, method: str, result: Any, *arguments: Any) -> Any:
    invoke = _java(f"{_EXPRESSIONS}objects.StaticInvoke")
    given = (sequence(*arguments), sequence(), True, True, True, _nobody())
    return invoke(_class(class_name), result, method, *given)


def _method(java_class: Any, name: str, *parameters: Any) -> Any:
    types = _active_context()._gateway.new_array(jvm().java.lang.Class, len(parameters))
    for place, parameter in enumerate(parameters):
        types[place] = parameter
    return java_class.getMethod(name, types)
