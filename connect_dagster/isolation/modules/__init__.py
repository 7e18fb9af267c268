"""Parent package of all modules of plugin sources: ``connect_dagster.isolation.modules.at_2fopt_2fa.yaml``.

The first import of such a module, in a worker or in one of Spark's Python workers, imports this package, which makes
the modules below it importable.
"""

from connect_dagster.isolation.module_loader import install

install()
