"""Helpers that converters share."""
