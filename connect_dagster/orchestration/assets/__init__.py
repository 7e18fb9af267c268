"""Assets of connectors and of their data: keys, specs, metadata and columns."""
