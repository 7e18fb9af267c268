"""The programs: `connect-standalone` runs a worker, `connect-dagster` looks into topics."""
