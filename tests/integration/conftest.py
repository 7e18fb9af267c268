"""Fixtures for tests with real services."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from connect_dagster.worker.session import Session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The worker's Spark session, one for each process of the test run."""
    session = Session.launched({})
    yield session.spark
    session.stop()
