"""Looking at a cluster: states, offsets, lag and rates, and the sensor that tells them."""
