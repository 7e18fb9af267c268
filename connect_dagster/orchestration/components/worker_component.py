"""Workers in YAML."""

from collections.abc import Mapping
from typing import Annotated, Any

import dagster as dg
from pydantic import BaseModel, Field

from connect_dagster.orchestration.components.scaffolders import WorkerScaffolder
from connect_dagster.orchestration.components.yaml_values import ResolvedWorkspace, given_fields, resource_model
from connect_dagster.orchestration.workers.definitions import build_connect_worker_definitions, numbered_workers
from connect_dagster.orchestration.workers.job import WORKER_JOB
from connect_dagster.orchestration.workers.mirror_maker import MirrorMakerResource
from connect_dagster.orchestration.workers.resource import (
    ConnectWorkerResource,
    HostedProcess,
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


def _resolver(worker: type[HostedProcess], description: str) -> dg.Resolver:
    return dg.Resolver(_fields, model_field_type=resource_model(worker, without=ELSEWHERE), description=description)


@dg.scaffold_with(WorkerScaffolder)
class ConnectWorkerComponent(dg.Component, dg.Model, dg.Resolvable):
    """Hosts Kafka Connect workers in runs of a job, kept alive by a sensor, shown as assets with checks.

    With ``mirror_maker`` it hosts MirrorMaker's dedicated process, which has no REST API and needs no workspace.

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

    workspace: ResolvedWorkspace | None = None
    worker: Annotated[Mapping[str, Any], _resolver(ConnectWorkerResource, "A worker that joins a group.")] | None = (
        Field(default=None)
    )
    standalone: (
        Annotated[Mapping[str, Any], _resolver(StandaloneConnectWorkerResource, "Or one that stands alone.")] | None
    ) = Field(default=None)
    mirror_maker: (
        Annotated[Mapping[str, Any], _resolver(MirrorMakerResource, "Or MirrorMaker's dedicated process.")] | None
    ) = Field(default=None)
    name: str = Field(default="worker", description="Prefix of the workers' names, or the name of a single worker.")
    count: int = Field(default=1, description="Number of workers of a group, on consecutive ports.")
    spark_config: dict[str, Any] = Field(default={}, description="Settings of the workers' own Spark sessions.")
    job_name: str = Field(default=WORKER_JOB, description="Name of the job, which the sensors' names begin with.")
    group_assets: bool = Field(
        default=True,
        description="Whether the group and its topics are assets here: of several code locations with workers of one "
        "group, one has them.",
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the job, the sensors, and the workers' assets and checks.

        Raises:
            DagsterInvalidDefinitionError: Not one kind of worker is given, a worker without ``workspace``, or a
                ``count`` of less than 1, or of others than members of a group.
        """
        return build_connect_worker_definitions(
            workers=self.workers(), job_name=self.job_name, group_assets=self.group_assets
        )

    def workers(self) -> Mapping[str, HostedProcess]:
        """Return the workers by their names in Dagster."""
        given = [kind for kind in (self.worker, self.standalone, self.mirror_maker) if kind is not None]
        if len(given) != 1:
            raise dg.DagsterInvalidDefinitionError(
                "ConnectWorkerComponent needs one of `worker`, a member of a group, `standalone`, and `mirror_maker`"
            )
        if self.count < 1:
            raise dg.DagsterInvalidDefinitionError(f"`count` must be 1 or more, but is {self.count}")
        if self.count > 1 and self.worker is None:
            raise dg.DagsterInvalidDefinitionError(
                f"`count: {self.count}` is for members of a group, which `worker` makes; others need a component each"
            )
        fields = {**given[0], "spark": self._spark()}
        if self.mirror_maker is not None:
            return {self.name: MirrorMakerResource(**fields)}
        if self.workspace is None:
            raise dg.DagsterInvalidDefinitionError(
                "ConnectWorkerComponent needs `workspace`, the worker's REST address"
            )
        fields["workspace"] = self.workspace
        if self.standalone is not None:
            return {self.name: StandaloneConnectWorkerResource(**fields)}
        return numbered_workers(ConnectWorkerResource(**fields), self.count, self.name)

    def _spark(self) -> Any:
        if not self.spark_config:
            return None
        # Loading definitions is to load PySpark only where it is asked for.
        from dagster_pyspark import LazyPySparkResource

        return LazyPySparkResource(spark_config=self.spark_config)
