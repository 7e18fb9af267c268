"""Plugins from ``plugin.path``, each place with modules of its own (Java: ``runtime.isolation``)."""
