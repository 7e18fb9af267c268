"""Asset checks of connectors; each records its number as metadata, so that it can be plotted."""
