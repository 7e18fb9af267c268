"""Log lines of a worker: their connectors, forms, files and levels."""
