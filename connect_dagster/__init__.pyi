from connect_dagster.orchestration import *  # noqa: F403 (what it exports, whatever that is)

__version__: str
