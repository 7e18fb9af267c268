"""REST client of any Kafka Connect cluster, its values and what configurations tell. Depends on no Dagster."""
