"""The benchmark of MirrorMaker: ours beside Java's dedicated process (`make bench OF=mirror`)."""
