"""Topics and records of one cluster, mirrored to another."""
