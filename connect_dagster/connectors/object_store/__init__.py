"""Files of records in object stores and folders, with deterministic names."""
