"""Connectors as Dagster resources, one class per plugin."""
