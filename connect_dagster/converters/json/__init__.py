"""JsonConverter: Connect's JSON with and without schema envelopes."""
