"""Ops and jobs that operate connectors."""
