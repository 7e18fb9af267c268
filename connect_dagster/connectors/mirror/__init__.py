"""MirrorMaker 2: topics, offsets of consumer groups and heartbeats from one Kafka cluster to another."""
