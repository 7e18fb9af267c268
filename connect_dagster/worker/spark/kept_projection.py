"""A plan over small Arrow tables that Spark resolves and optimizes once, and that no job runs.

A few rows take Spark milliseconds of work on the plan and a job, and microseconds on the rows. A kept projection is
the optimized plan; for each table its leaf is replaced by the table's rows, and Catalyst's rule
``ConvertToLocalRelation`` evaluates it, as it does for any plan over a local relation. The parts are private to Spark:
where one is missing, or the plan has more than projections and filters, callers run the plan as usual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from connect_dagster.expressions.java_calls import scala_object

Made = TypeVar("Made")
Result = TypeVar("Result")


class NotKeptError(Exception):
    """A plan cannot be kept, or does not evaluate this table: run it as usual."""


class MadeOnce(Generic[Made]):
    """Something that is made of a plan when it is first needed, or cannot be."""

    def __init__(self) -> None:
        self._made: Made | None = None
        self._is_tried = False

    @property
    def known(self) -> Made | None:
        """Return what was made; ``None`` before the first time, and where it cannot be."""
        return self._made

    def use(self, make: Callable[[], Made], run: Callable[[Made], Result]) -> Result | None:
        """Return what ``run`` returns; ``None`` where a plan cannot be kept, now or at the first time.

        Args:
            make: called once; may raise NotKeptError.
            run: called with what was made; may raise NotKeptError.
        """
        try:
            if not self._is_tried:
                self._is_tried = True
                self._made = make()
            return None if self._made is None else run(self._made)
        except NotKeptError:
            return None


class KeptProjection:
    """A plan over tables of one Arrow schema.

    Args:
        spark: the worker's session.
        schema: of the tables.
        plan: builds the plan; it sees a frame without rows, so a plan that depends on them cannot be kept.

    Raises:
        NotKeptError: the plan has other operators than projections and filters, or expressions whose value is not of
            the row alone, such as the current time.
    """

    def __init__(self, spark: SparkSession, schema: pa.Schema, plan: Callable[[DataFrame], DataFrame]) -> None:
        rows = from_arrow_schema(schema)
        df = plan(spark.createDataFrame(spark.sparkContext.emptyRDD(), rows))
        self._given, self._made = to_arrow_schema(rows), to_arrow_schema(df.schema)
        try:
            self._evaluation = _Evaluation(spark, rows.json(), df)
        except (Py4JError, TypeError, AttributeError) as error:
            raise NotKeptError(f"Spark has other parts than Spark 4.1: {error}") from error

    def run(self, rows: pa.Table) -> pa.Table:
        """Return the rows that the plan makes, in the types of ``DataFrame.toArrow``.

        Raises:
            NotKeptError: a row cannot be evaluated; running the plan as usual raises the error of that.
        """
        try:
            made = self._evaluation.run(rows.cast(self._given))
            return self._made.empty_table() if made is None else made.cast(self._made)
        except (pa.ArrowException, Py4JError, PySparkException) as error:
            raise NotKeptError(str(error)) from error


class _Evaluation:
    """The parts of Spark (``org.apache.spark.sql.catalyst``, ``…execution.arrow``); each call of one takes 0.1 ms."""

    def __init__(self, spark: SparkSession, schema: str, df: DataFrame) -> None:
        jvm: Any = spark._jvm
        query = check_is_lasting(df)
        analyzed, plan = query.analyzed(), query.optimizedPlan()
        self._over: list[Callable[[Any], Any]] = []
        while not plan.children().isEmpty():
            self._over.append(_over_other_rows(plan))
            plan = plan.children().head()
        if plan.nodeName() != "LogicalRDD":
            raise NotKeptError(f"the plan begins with {plan.nodeName()}")
        self._columns = plan.output()
        self._session, self._schema, self._made = spark._jsparkSession, schema, analyzed.schema()
        self._input, self._channel = jvm.java.io.ByteArrayInputStream, jvm.java.nio.channels.Channels.newChannel
        self._arrow = scala_object(jvm.org.apache.spark.sql.execution.arrow, "ArrowConverters")
        self._rule = scala_object(jvm.org.apache.spark.sql.catalyst.optimizer, "ConvertToLocalRelation")
        self._nothing = jvm.scala.Option.empty()
        self._zone = spark.conf.get("spark.sql.session.timeZone")

    def run(self, rows: pa.Table) -> pa.Table | None:
        plan = self._relation(rows)
        for over in reversed(self._over):
            plan = self._rule.apply(over(plan))
        found = plan.data().iterator()
        if not found.hasNext():
            return None
        # Projections and filters make no more rows than they get, so that one batch has them all.
        batches = self._arrow.toBatchWithSchemaIterator(found, self._made, rows.num_rows, 0, self._zone, True, False)
        try:
            with pa.ipc.open_stream(batches.next()) as reader:
                return reader.read_all()
        finally:
            batches.close()

    def _relation(self, rows: pa.Table) -> Any:
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, rows.schema) as writer:
            writer.write_table(rows)
        channel = self._channel(self._input(stream.getvalue().to_pybytes()))
        given = self._arrow.toDataFrame(self._arrow.getBatchesFromStream(channel), self._schema, self._session)
        relation = given.queryExecution().logical()
        return relation.copy(self._columns, relation.data(), False, self._nothing)


def check_is_lasting(df: DataFrame) -> Any:
    """Return Spark's ``QueryExecution`` of a query whose results depend on its rows alone.

    Raises:
        NotKeptError: an expression has another value each time, such as the current time, or that of a subquery.
    """
    jvm: Any = df.sparkSession._jvm
    pattern = jvm.org.apache.spark.sql.catalyst.trees.TreePattern
    query = df._jdf.queryExecution()
    analyzed = query.analyzed()
    changing = (pattern.CURRENT_LIKE(), pattern.PLAN_EXPRESSION())
    if any(map(analyzed.containsPattern, changing)) or not analyzed.deterministic():
        raise NotKeptError("an expression has another value each time")
    return query


def _over_other_rows(operator: Any) -> Callable[[Any], Any]:
    """Return a function that makes the same operator over another plan."""
    match operator.nodeName():
        case "Project":
            rule = operator.projectList()
        case "Filter":
            rule = operator.condition()
        case other:
            raise NotKeptError(f"the plan has an operator {other}")
    return lambda plan: operator.copy(rule, plan)
