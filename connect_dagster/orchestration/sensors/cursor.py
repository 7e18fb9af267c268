"""What a sensor remembers between two ticks, kept by Dagster as text."""

from typing import Self

from pydantic import BaseModel, ValidationError


class SensorCursor(BaseModel):
    """Base of the sensors' cursors; every field of a cursor has a default."""

    @classmethod
    def read(cls, text: str | None) -> Self:
        """The cursor a tick left; a fresh one when there is none, or none that can be read."""
        try:
            return cls.model_validate_json(text) if text else cls()
        except ValidationError:
            return cls()
