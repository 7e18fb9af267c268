"""Our worker beside Java Kafka Connect: one run, one broker, the same lines, each cell in turn (`make bench`)."""
