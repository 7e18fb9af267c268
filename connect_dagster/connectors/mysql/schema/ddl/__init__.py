"""The parser of statements that change the structure of tables."""
