"""A server: access to it, questions to it, and what it reports."""
