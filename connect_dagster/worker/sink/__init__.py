"""Sink tasks: from topics to connectors."""
