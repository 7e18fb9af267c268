"""MirrorMaker 2: topics, offsets of groups, settings and ACLs from cluster to cluster."""
