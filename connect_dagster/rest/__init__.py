"""The REST API of a worker, as Kafka Connect serves it: HTTP requests to calls on a herder, and back."""
