"""The Spark session of a worker, its JVM and their settings."""
