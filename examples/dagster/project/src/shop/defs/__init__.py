"""A folder for each component."""
