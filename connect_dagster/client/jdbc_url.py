"""Parse a JDBC URL: the kind of its database, and the names that lead to its tables."""

import re
from dataclasses import dataclass

# One pattern for each way to name a database; the group `db` is its name.
_DATABASE = {
    "sqlserver": re.compile(r"(?i);\s*database(?:name)?=(?P<db>[^;]+)"),
    "jtds": re.compile(r"//[^/;]+/(?P<db>[^;?]+)"),
    "oracle": re.compile(r"@(?://)?[^/@]*?(?::\d+)?[:/](?P<db>[\w.$-]+)$"),
}
_USUAL = re.compile(r"//[^/?;]*/(?P<db>[^?;]+)")
_SERVER = {
    "oracle": re.compile(r"\A.*@(?://)?(?P<server>[^/@:]+(?::\d+)?)"),
    "sqlite": re.compile(r"(?P<server>[^?]+)"),
}
_USUAL_SERVER = re.compile(r"//(?P<server>[^/?;\\]+)")
# Whatever else stands there may have a password in it, as `(host=db,password=…)` of MySQL has.
_HOSTS = re.compile(r"(?:(?:\[[0-9a-fA-F:.%]+\]|[\w.-]+)(?::\d+)?(?:,|$))+")
_KINDS = {"postgresql": "postgres", "jtds": "sqlserver"}
_DEFAULT_SCHEMAS = {"postgres": "public", "sqlserver": "dbo"}
_SCHEMA_PARAMETER = re.compile(r"[?&]currentSchema=(\w+)")


@dataclass(frozen=True, slots=True)
class JdbcDatabase:
    """A database that a JDBC URL leads to.

    Attributes:
        system: Its kind, such as ``mysql``.
        name: Its name; empty when the URL has none.
        schema: Schema of tables that are named without one; None where databases have no schemas.
        server: Its hosts and ports, or its file; None when the URL has none, or another form of them.
    """

    system: str
    name: str
    schema: str | None
    server: str | None = None

    def table_path(self, table: str) -> tuple[str, ...]:
        """Database, schema where there is one, and table for a name as connectors are configured with it."""
        parts = tuple(part.strip('`"[] ') for part in table.split("."))
        if len(parts) == 1 and self.schema:
            parts = (self.schema, *parts)
        if self.name and parts[0] != self.name:
            parts = (self.name, *parts)
        return parts


def jdbc_database(url: str) -> JdbcDatabase | None:
    """Read a URL such as ``jdbc:mysql://localhost:3306/kafkadb?user=kafka``; None when it is not JDBC."""
    scheme, _, rest = url.partition(":")
    kind, _, address = rest.partition(":")
    if scheme != "jdbc" or not address:
        return None
    system = _KINDS.get(kind, kind)
    schema = _SCHEMA_PARAMETER.search(address)
    return JdbcDatabase(
        system,
        _file_name(address) if kind == "sqlite" else _name(kind, address),
        schema[1] if schema else _DEFAULT_SCHEMAS.get(system),
        _server(kind, address),
    )


def _server(kind: str, address: str) -> str | None:
    found = _SERVER.get(kind, _USUAL_SERVER).search(address)
    if found is None or kind == "sqlite":
        return found and found["server"]
    hosts = ",".join(host.rpartition("@")[2] for host in found["server"].split(","))
    return hosts if _HOSTS.fullmatch(hosts) else None


def _name(kind: str, address: str) -> str:
    found = _DATABASE.get(kind, _USUAL).search(address)
    return found["db"] if found else ""


def _file_name(address: str) -> str:
    """Return the name of a database file, without folders and extension."""
    # One regular expression for all of it takes the square of its length.
    name = re.split(r"[/\\]", address.partition("?")[0])[-1]
    stem, _, extension = name.rpartition(".")
    return stem if stem and re.fullmatch(r"\w+", extension) else name
