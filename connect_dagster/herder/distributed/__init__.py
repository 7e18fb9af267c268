"""Distributed mode: workers of one group share connectors and tasks (Java: ``runtime.distributed``)."""
