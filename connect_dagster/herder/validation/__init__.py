"""Validation of connector configurations before they run."""
