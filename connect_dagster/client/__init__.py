"""REST client of any Kafka Connect cluster, its values, and the lineage of configurations. Does not import Dagster."""
