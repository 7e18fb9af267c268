"""Asset checks of connectors: each measures something, judges it, and keeps the number so that it can be plotted."""
