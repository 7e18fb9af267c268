"""A real Apache Kafka broker in a child JVM, and the jars that it, Spark and Java Connect need.

For the demo, development and tests. It knows nothing of connectors, workers or Dagster.
"""
