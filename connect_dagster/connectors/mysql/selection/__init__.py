"""Which tables, columns and keys are captured, and how they are changed."""
