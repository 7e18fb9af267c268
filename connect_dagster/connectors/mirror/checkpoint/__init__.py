"""Offsets of consumer groups, translated for another cluster."""
