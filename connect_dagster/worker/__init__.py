"""One process: Spark session, plugins, connectors and tasks, delivery, offsets."""
