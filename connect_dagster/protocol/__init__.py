"""What Connect workers say to each other: bytes in, values and decisions out. No I/O, no clock, no threads."""
