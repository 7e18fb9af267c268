"""Commands of ``connect-dagster mirror``, which read what MirrorMaker writes."""
