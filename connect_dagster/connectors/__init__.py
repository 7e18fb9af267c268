"""Connectors that come with the worker, one folder each."""
