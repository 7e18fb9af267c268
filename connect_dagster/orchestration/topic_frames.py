"""Topics as DataFrames, for batch assets downstream of connectors: a session of dagster-pyspark that reads Kafka."""

from typing import TYPE_CHECKING, Any

from pydantic import Field, PrivateAttr

from connect_dagster.embedded import jars
from connect_dagster.orchestration.secret_fields import SECRET, ResourceWithSecrets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JARS = "spark.jars"


class KafkaPySparkResource(ResourceWithSecrets):
    """A lazy session of dagster-pyspark that includes Spark's Kafka source.

    PySpark, the session's JVM and missing jars cost nothing until a step first asks for them.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster import KafkaPySparkResource

            @dg.asset(deps=[["kafka", "connect-test"]])
            def line_count(pyspark: KafkaPySparkResource) -> int:
                return pyspark.read_topic("connect-test").count()

            defs = dg.Definitions(
                assets=[line_count],
                resources={"pyspark": KafkaPySparkResource(bootstrap_servers="127.0.0.1:9092")},
            )
    """

    bootstrap_servers: str = Field(description="Kafka brokers, host:port, separated by commas.")
    spark_config: dict[str, Any] = Field(
        default={}, description="Spark's settings, as dagster-pyspark takes them.", json_schema_extra=SECRET
    )
    consumer: dict[str, str] = Field(
        default={},
        description="Consumer settings of Kafka's Java client, such as those of SASL and TLS.",
        json_schema_extra=SECRET,
    )
    _session: Any = PrivateAttr(default=None)

    @property
    def spark_session(self) -> "SparkSession":
        """Return the session; Spark's Kafka source is added to the jars of ``spark_config``.

        Raises:
            JarUnavailable: A jar is missing and cannot be downloaded; names it.
        """
        if self._session is None:
            from dagster_pyspark import LazyPySparkResource

            own = [str(self.spark_config[JARS])] if JARS in self.spark_config else []
            all_jars = ",".join([*own, *map(str, jars.resolve("spark-kafka"))])
            settings = {"spark.app.name": "connect-dagster", **self.spark_config, JARS: all_jars}
            self._session = LazyPySparkResource(spark_config=settings).spark_session
        session: SparkSession = self._session
        return session

    def read_topic(self, topic: str, *, start: str = "earliest", end: str = "latest") -> "DataFrame":
        """Return the current records of a topic, without those of aborted transactions.

        Args:
            topic: Name of the topic.
            start: ``earliest``, or Spark's JSON of the first offset of each partition.
            end: ``latest``, or Spark's JSON of the offset after the last of each partition.

        Returns:
            A frame with the columns ``key`` and ``value`` (binary), ``topic``, ``partition``, ``offset``,
            ``timestamp``, ``timestampType`` and ``headers`` (array of key and binary value).
        """
        consumer = {"isolation.level": "read_committed", **self.consumer}
        options = {f"kafka.{key}": value for key, value in consumer.items()}
        options |= {"kafka.bootstrap.servers": self.bootstrap_servers, "subscribe": topic, "includeHeaders": "true"}
        reader = self.spark_session.read.format("kafka").options(**options)
        return reader.options(startingOffsets=start, endingOffsets=end).load()
