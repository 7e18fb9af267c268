"""Observations of connectors: states, offsets, lag and rates, as metadata of assets."""
