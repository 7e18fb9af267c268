"""A source of an SQLite file, whose driver no worker has: it comes by `plugin.path`."""

from pathlib import Path

from connect_dagster.embedded import jars


def plugin_path(folder: Path) -> str:
    """Put the driver into a folder of plugins, and return that."""
    (driver,) = jars.resolve("sqlite-driver")
    plugin = folder / "plugins" / "sqlite"
    plugin.mkdir(parents=True)
    (plugin / driver.name).symlink_to(driver)
    return str(plugin.parent)


def source(file: Path, prefix: str) -> dict[str, str]:
    """Return the configuration of a source of the table `things`, by its column `id`."""
    return {
        "name": prefix,
        "connector.class": "JdbcSource",
        "connection.url": f"jdbc:sqlite:{file}",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "validate.non.null": "false",
        "table.whitelist": "things",
        "topic.prefix": prefix,
    }
