"""The structure of captured tables."""
