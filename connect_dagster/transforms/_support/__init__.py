"""Helpers that transforms share."""
