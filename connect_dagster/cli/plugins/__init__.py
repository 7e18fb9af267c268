"""Commands of ``connect-dagster`` for plugins of a worker, and new ones."""
