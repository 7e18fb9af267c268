"""Kafka Connect in Python: connectors run on Spark, clusters are operated from Dagster."""

__version__ = "0.1.0"
