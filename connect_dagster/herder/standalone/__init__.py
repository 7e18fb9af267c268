"""Standalone mode: one worker process with its connectors (Java: ``runtime.standalone``)."""
