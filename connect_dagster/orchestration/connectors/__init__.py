"""Connectors declared in code, and their application to a cluster."""
