"""`make demo`: a growing nginx access log through Kafka to a file, on Spark, seen in Dagster."""
