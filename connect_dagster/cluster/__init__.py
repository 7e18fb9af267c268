"""Many workers as one: group membership, the three internal topics, the distributed herder, forwarding."""
