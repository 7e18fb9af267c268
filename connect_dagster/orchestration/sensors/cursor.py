"""Cursors of sensors, which Dagster stores as text."""

from typing import Self

from pydantic import BaseModel, ValidationError


class SensorCursor(BaseModel):
    """Base of the sensors' cursors; every field of a cursor has a default."""

    @classmethod
    def read(cls, text: str | None) -> Self:
        """Return the cursor of the last tick; a new one when it is missing or unreadable."""
        try:
            return cls.model_validate_json(text) if text else cls()
        except ValidationError:
            return cls()
