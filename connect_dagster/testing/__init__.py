"""Helpers for tests of connectors and of workers: contexts, and connectors that record their calls."""
