"""Connectors as they are to be: declarations, their difference to the cluster, connectors as resources."""
