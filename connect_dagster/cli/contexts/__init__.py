"""Contexts: named clusters, with what leads to them."""
