"""Connectors declared in code, and how the cluster gets to run them."""
