"""A real Apache Kafka broker in a child JVM, and the jars that it, Spark and Java Connect need.

For the demo, development and tests. Independent of connectors, workers and Dagster.
"""
