"""Spark for tests as a worker sets it up, one for each process of the test run."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from connect_dagster.worker.spark.session import Session
from tests.integration.worker_process import QUICK_JVM


@pytest.fixture(scope="session")
def spark_session() -> Iterator[Session]:
    """A worker's Spark session and its JVM, one for each process of the test run."""
    session = Session.launched(QUICK_JVM)
    session.warm_up()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark(spark_session: Session) -> SparkSession:
    """Spark itself."""
    return spark_session.spark
