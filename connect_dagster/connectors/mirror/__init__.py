"""MirrorMaker 2: connectors that replicate topics, group offsets and heartbeats between clusters (KIP-382)."""
