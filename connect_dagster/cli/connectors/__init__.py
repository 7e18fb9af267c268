"""Commands of ``connect-dagster`` that operate connectors over REST."""
