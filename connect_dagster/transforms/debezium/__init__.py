"""Debezium's transforms of change events."""
