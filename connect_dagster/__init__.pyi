from connect_dagster.orchestration import *  # noqa: F403
from connect_dagster.orchestration.resources.bundled import *  # noqa: F403

__version__: str
