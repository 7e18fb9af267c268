"""The protocols between Connect workers: bytes in, values and decisions out. No I/O, no clock, no threads."""
