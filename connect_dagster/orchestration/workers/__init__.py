"""Workers hosted by runs: one run is one life of a worker, which a sensor renews."""
