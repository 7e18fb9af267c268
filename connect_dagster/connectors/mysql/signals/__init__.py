"""Signals: what users ask of a connector while it runs."""
