"""The benchmark of lists of records against frames, in a worker of ours (`make bench OF=records`)."""
