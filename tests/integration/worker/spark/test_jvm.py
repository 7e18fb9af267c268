"""The JVM of a worker: what it is told."""

from typing import Any

from pyspark.sql import SparkSession

from tests.integration.worker_process import QUICK_JVM


def test_java_options_of_the_worker_file_reach_the_jvm(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm
    arguments = java.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
    assert {*QUICK_JVM["spark.driver.extraJavaOptions"].split()} <= {*arguments}
