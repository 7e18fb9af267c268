"""Transforms: changes to records between connectors and Kafka, one module for each."""
