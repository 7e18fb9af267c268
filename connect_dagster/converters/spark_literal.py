"""Default values of schemas as Spark literals: see ``plugin.spark_literal``, which transforms use too."""

from connect_dagster.plugin.spark_literal import literal

__all__ = ["literal"]
