"""Workers in YAML."""

from collections.abc import Mapping
from typing import Annotated, Any

import dagster as dg
from pydantic import BaseModel, Field

from connect_dagster.orchestration.components.scaffolders import WorkerScaffolder
from connect_dagster.orchestration.components.yaml_values import ResolvedWorkspace, given_fields, resource_model
from connect_dagster.orchestration.workers.definitions import build_connect_worker_definitions, numbered_workers
from connect_dagster.orchestration.workers.job import WORKER_JOB
from connect_dagster.orchestration.workers.resource import (
    ConnectWorkerResource,
    HostedWorker,
    StandaloneConnectWorkerResource,
)

# The component has separate fields for them.
ELSEWHERE = ("workspace", "spark")
FILES = ("worker_properties", "connector_files")


def _fields(context: dg.ResolutionContext, model: BaseModel) -> Mapping[str, Any]:
    """Return the fields of a worker in YAML; paths of files are relative to it."""
    given = given_fields(context, model)
    return given | {name: _beside(context, given[name]) for name in FILES if given.get(name)}


def _beside(context: dg.ResolutionContext, path: str | list[str]) -> str | list[str]:
    if isinstance(path, list):
        return [str(context.resolve_source_relative_path(each)) for each in path]
    return str(context.resolve_source_relative_path(path))


def _resolver(worker: type[HostedWorker], description: str) -> dg.Resolver:
    return dg.Resolver(_fields, model_field_type=resource_model(worker, without=ELSEWHERE), description=description)


@dg.scaffold_with(WorkerScaffolder)
class ConnectWorkerComponent(dg.Component, dg.Model, dg.Resolvable):
    """Hosts Kafka Connect workers in runs of a job, kept alive by a sensor, shown as assets with checks.

    Examples:
        .. code-block:: yaml

            # defs.yaml
            type: connect_dagster.ConnectWorkerComponent
            attributes:
              workspace:
                url: http://127.0.0.1:8083
              worker:
                bootstrap_servers: 127.0.0.1:9092
                listener: http://127.0.0.1:8083
                group_id: connect
                config_storage_topic: connect-configs
                offset_storage_topic: connect-offsets
                status_storage_topic: connect-status
              count: 2
              spark_config:
                spark.driver.memory: 2g
    """

    workspace: ResolvedWorkspace
    worker: Annotated[Mapping[str, Any], _resolver(ConnectWorkerResource, "A worker that joins a group.")] | None = (
        Field(default=None)
    )
    standalone: (
        Annotated[Mapping[str, Any], _resolver(StandaloneConnectWorkerResource, "Or one that stands alone.")] | None
    ) = Field(default=None)
    name: str = Field(default="worker", description="Prefix of the workers' names, or the name of a single worker.")
    count: int = Field(default=1, ge=1, description="Number of workers, on consecutive ports.")
    spark_config: dict[str, Any] = Field(default={}, description="Settings of the workers' own Spark sessions.")
    job_name: str = Field(default=WORKER_JOB, description="Name of the job, which the sensors' names begin with.")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the job, the sensors, and the workers' assets and checks.

        Raises:
            DagsterInvalidDefinitionError: Neither ``worker`` nor ``standalone`` is given, or both.
        """
        return build_connect_worker_definitions(workers=self.workers(), job_name=self.job_name)

    def workers(self) -> Mapping[str, HostedWorker]:
        """Return the workers by their names in Dagster."""
        if (self.worker is None) == (self.standalone is None):
            raise dg.DagsterInvalidDefinitionError(
                "ConnectWorkerComponent needs either `worker`, one of a group, or `standalone`"
            )
        if self.standalone is not None:
            return {self.name: StandaloneConnectWorkerResource(**self._with_cluster(self.standalone))}
        worker = ConnectWorkerResource(**self._with_cluster(self.worker or {}))
        return numbered_workers(worker, self.count, self.name)

    def _with_cluster(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {**fields, "workspace": self.workspace, "spark": self._spark()}

    def _spark(self) -> Any:
        if not self.spark_config:
            return None
        # Loading definitions is to load PySpark only where it is asked for.
        from dagster_pyspark import LazyPySparkResource

        return LazyPySparkResource(spark_config=self.spark_config)
