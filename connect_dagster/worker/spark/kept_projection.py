"""A plan over small Arrow tables that Spark resolves and optimizes once, and that no job runs.

A few rows take Spark milliseconds of work on the plan and a job, and microseconds on the rows. A kept projection has
the expressions of the optimized plan, and evaluates them over each table in the JVM, as Catalyst's rule
``ConvertToLocalRelation`` does for any plan over a local relation (docs/decisions/0045-one-call-for-few-records.md).
The parts are private to Spark: where one is missing, or the plan has more than projections and filters, callers run the
plan as usual.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from connect_dagster.expressions.java_classes import new_instance
from connect_dagster.scratch import memory_folder

_CLASS = Path(__file__).with_name("KeptProjection.java")

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
        df = plan(_no_rows(spark, rows))
        self._given, self._made = to_arrow_schema(rows), to_arrow_schema(df.schema)
        try:
            self._evaluation = _new_evaluation(spark, df)
        except (Py4JError, PySparkException, TypeError, AttributeError) as error:
            raise NotKeptError(f"Spark 4.1 has no evaluation of it without a job: {error}") from error

    def run(self, rows: pa.Table) -> pa.Table:
        """Return the rows that the plan makes, in the types of ``DataFrame.toArrow``.

        Raises:
            NotKeptError: a row cannot be evaluated; running the plan as usual raises the error of that.
        """
        try:
            with tempfile.TemporaryDirectory(prefix="connect-dagster-few-", dir=memory_folder()) as folder:
                given, made = f"{folder}/given", f"{folder}/made"
                with pa.OSFile(given, "wb") as file, pa.ipc.new_stream(file, self._given) as stream:
                    stream.write_table(rows.cast(self._given))
                self._evaluation.run(given, made)
                with pa.memory_map(made) as file, pa.ipc.open_stream(file) as stream:
                    return stream.read_all().cast(self._made)
        except (OSError, pa.ArrowException, Py4JError, PySparkException) as error:
            raise NotKeptError(str(error)) from error


def _no_rows(spark: SparkSession, schema: StructType) -> DataFrame:
    # createDataFrame makes an RDD of Python's objects, which costs as much as the plan.
    session: Any = spark._jsparkSession
    rows = spark._jsc.emptyRDD().rdd()
    return DataFrame(session.internalCreateDataFrame(rows, session.parseDataType(schema.json()), False), spark)


def _new_evaluation(spark: SparkSession, df: DataFrame) -> Any:
    query = check_is_lasting(df)
    zone = spark.conf.get("spark.sql.session.timeZone")
    return new_instance(_CLASS, query.optimizedPlan(), query.analyzed().schema(), zone)


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
