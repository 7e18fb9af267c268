"""A topic over time, as the brokers describe it: deleted, there again, or another one of the same name."""

from __future__ import annotations

import logging
from dataclasses import dataclass

log = logging.getLogger(__name__)

# Brokers that have just started, or have not heard of a new topic yet, may deny it for a moment.
_MISSING_SECONDS = 2.0


@dataclass(slots=True)
class TopicSightings:
    """The topic over time, as the brokers describe it; logs when it goes and when it is there again.

    Attributes:
        topic: the topic.
        id: its id; ``None`` before it was seen.
        missing: whether the brokers have not known it for a while.
        replaced: whether it is another topic of that name than before; for the reader to clear.
    """

    topic: str
    id: str | None = None
    missing: bool = False
    replaced: bool = False
    _unseen_since: float | None = None

    @property
    def seen(self) -> bool:
        """Return whether the brokers knew it when they were asked last."""
        return self._unseen_since is None

    def take(self, id: str | None, now: float) -> None:
        """Take a description.

        Args:
            id: of the topic, ``None`` when the brokers know none.
            now: seconds of a monotonic clock.
        """
        if id is None:
            self._unseen_since = now if self._unseen_since is None else self._unseen_since
            if not self.missing and now - self._unseen_since >= _MISSING_SECONDS:
                self.missing = True
                log.warning(
                    "Topic '%s' does not exist any more on the brokers: somebody has deleted it. This worker continues "
                    "with the records that it has read, and can write no others",
                    self.topic,
                )
            return
        if self.missing:
            log.warning("Topic '%s' exists again", self.topic)
        self.replaced = self.replaced or self.id not in (None, id)
        self.id, self.missing, self._unseen_since = id, False, None
