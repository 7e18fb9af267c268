"""Plugins from ``plugin.path``, each source with separate modules (Java: ``runtime.isolation``)."""
