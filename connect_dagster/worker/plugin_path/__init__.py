"""What lies on ``plugin.path``: found by what declares itself, with no file of it run."""
