"""Removes members that a worker's consumers have left behind in their groups.

A consumer that is closed while its group's coordinator is away cannot leave, and librdkafka forgets the member id of a
consumer that has not heard of the coordinator for ``session.timeout.ms``. Brokers that are back keep such a member for
another session, and the group waits for it. So it is removed by its id as soon as the coordinator responds (KIP-345).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from confluent_kafka import KafkaException

from connect_dagster.kafka.clients import admin_settings_of
from connect_dagster.kafka.settings.java_settings import Settings

log = logging.getLogger(__name__)

Members = Mapping[str, set[str]]
"""Member ids by group."""
RemoveMembers = Callable[[Settings, Members, float], Mapping[str, str]]
"""Removes members with the settings of an admin client, within a time in seconds; returns the errors of groups."""

_Access = frozenset[tuple[str, str]]

# After a longer absence of the brokers a group waits for the sessions of such members.
_SECONDS = 900.0


class Departures:
    """Members that are not used any more; any thread may add one.

    Args:
        remove: removes members.
    """

    def __init__(self, remove: RemoveMembers) -> None:
        self._remove = remove
        self._lock = threading.Lock()
        self._left: dict[_Access, dict[str, set[str]]] = {}

    def add(self, consumer: Settings, member_id: str) -> None:
        """Remove a member in the background.

        Args:
            consumer: settings of the consumer that was this member, in Java's names.
            member_id: its id, which no consumer uses any more.
        """
        access = frozenset(admin_settings_of(consumer).items())
        with self._lock:
            is_first = access not in self._left
            self._left.setdefault(access, {}).setdefault(consumer["group.id"], set()).add(member_id)
        if is_first:
            threading.Thread(target=self._remove_all, args=(access,), name="leaving-groups", daemon=True).start()

    def _remove_all(self, access: _Access) -> None:
        while members := self._taken(access):
            try:
                errors = self._remove(dict(access), members, _SECONDS)
            except Exception as error:  # whatever it is: an access whose thread has ended gets no other one
                text = error.args[0].str() if isinstance(error, KafkaException) else str(error)
                errors = dict.fromkeys(members, text)
            for group, ids in members.items():
                _log(group, ids, errors.get(group))

    def _taken(self, access: _Access) -> dict[str, set[str]]:
        """Return the members added since the last time; forget the access when there are none."""
        with self._lock:
            members = self._left[access]
            if members:
                self._left[access] = {}
            else:
                del self._left[access]
            return members


def _log(group: str, ids: set[str], error: str | None) -> None:
    listed = ", ".join(sorted(ids))
    if error is None:
        log.info(
            "Removed members of group %s that could not leave it while its coordinator was away: %s", group, listed
        )
    else:
        log.warning("Group %s waits for the sessions of members that could not leave it: %s (%s)", group, listed, error)
