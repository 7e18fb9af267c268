"""Commands of ``connect-dagster`` that read and write topics, groups and dead letters at the brokers."""
