"""What Java does to values that others get to see: the order of its hash maps, the JSON of its usual library."""
