"""Configurations of workers, connectors and tasks."""
