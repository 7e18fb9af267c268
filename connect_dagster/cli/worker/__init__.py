"""Start a worker process: ``connect-standalone`` and ``connect-distributed``."""
