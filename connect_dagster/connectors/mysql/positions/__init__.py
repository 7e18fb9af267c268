"""Positions in a binary log."""
