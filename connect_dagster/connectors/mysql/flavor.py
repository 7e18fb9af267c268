"""The two kinds of servers, where their statements are understood in different ways."""

from __future__ import annotations

from enum import Enum


class Flavor(Enum):
    """A kind of server, which a separate connector is for; the value is in the names of its schemas."""

    MYSQL = "mysql"
    MARIADB = "mariadb"
