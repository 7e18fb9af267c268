"""Helpers that config providers share."""
