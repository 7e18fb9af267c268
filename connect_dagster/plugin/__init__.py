"""What a connector author imports. Depends on nothing else of this project."""
