"""JSON with a schema registry: schemas both ways, and maps in the form that JSON Schema has for them."""
