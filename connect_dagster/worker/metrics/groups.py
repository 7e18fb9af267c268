"""The groups of metrics, their names in Kafka, and where those stand in Prometheus.

A metric of Kafka's JMX bean ``kafka.connect:type=sink-task-metrics,connector=c,task=0`` becomes
``kafka_connect_sink_task_sink_record_read_total{connector="c",task="0"}``; one whose value is a text becomes a 1 with
that text as a label (docs/decisions/0008-metric-names.md). Java: ``ConnectMetricsRegistry``.
"""

from __future__ import annotations

from connect_dagster.plugin.metrics import MetricGroup

_TASK = ("connector", "task")
_PLUGIN_TEXTS = {
    "connector-class": "Class of the connector.",
    "connector-type": "Direction of the connector: source or sink.",
    "connector-version": "Version of the connector.",
}

APP_INFO = MetricGroup(
    "app-info",
    "kafka_connect",
    ("clientid",),
    {"start-time-seconds": "When the worker started, in seconds since the epoch."},
    {"version-info": "Version of Kafka Connect.", "commit-id-info": "Commit of Kafka Connect."},
)

WORKER = MetricGroup(
    "connect-worker-metrics",
    "kafka_connect_worker",
    (),
    {
        "connector-count": "Connectors that run on the worker.",
        "task-count": "Tasks that run on the worker.",
        **{
            f"{what}-startup-{name}": text
            for what in ("connector", "task")
            for name, text in {
                "attempts-total": f"Starts of {what}s that came to an end, good or bad.",
                "success-total": f"Starts of {what}s that succeeded.",
                "success-percentage": f"Part of the {what} starts of late that succeeded, from 0 to 1.",
                "failure-total": f"Starts of {what}s that failed.",
                "failure-percentage": f"Part of the {what} starts of late that failed, from 0 to 1.",
            }.items()
        },
    },
)

WORKER_CONNECTOR = MetricGroup(
    "connect-worker-metrics",
    "kafka_connect_worker",
    ("connector",),
    {
        "connector-total-task-count": "Tasks of the connector on the worker.",
        **{
            f"connector-{state}-task-count": f"Tasks of the connector on the worker whose state is {state}."
            for state in ("running", "paused", "failed", "unassigned", "destroyed", "restarting")
        },
    },
)

REBALANCE = MetricGroup(
    "connect-worker-rebalance-metrics",
    "kafka_connect_worker_rebalance",
    (),
    {
        "epoch": "Generation of the group that the worker is in.",
        "completed-rebalances-total": "Rebalances that the worker has come through.",
        "rebalancing": "1 while the worker is in a rebalance, otherwise 0.",
        "rebalance-max-time-ms": "Longest rebalance of late, in milliseconds.",
        "rebalance-avg-time-ms": "Mean time of the rebalances of late, in milliseconds.",
        "time-since-last-rebalance-ms": "Milliseconds since the last rebalance came to its end.",
    },
    {"connect-protocol": "Protocol that the group has agreed on.", "leader-name": "URL of the group's leader."},
)

COORDINATOR = MetricGroup(
    "connect-coordinator-metrics",
    "kafka_connect_coordinator",
    ("clientid",),
    {
        "assigned-connectors": "Connectors that the group has assigned to the worker.",
        "assigned-tasks": "Tasks that the group has assigned to the worker.",
        "heartbeat-rate": "Heartbeats a second.",
        "heartbeat-response-time-max": "Longest recent wait for the response to a heartbeat, in milliseconds.",
        "last-heartbeat-seconds-ago": "Seconds since the last heartbeat.",
        "join-rate": "Joins a second.",
        "join-time-avg": "Mean time of a join, in milliseconds.",
        "join-time-max": "Longest join of late, in milliseconds.",
        "sync-rate": "Syncs a second.",
        "sync-time-avg": "Mean time of a sync, in milliseconds.",
        "sync-time-max": "Longest sync of late, in milliseconds.",
        "heartbeat-total": "Heartbeats since the worker began.",
        "join-total": "Joins since the worker began.",
        "sync-total": "Syncs since the worker began.",
        "rebalance-latency-avg": "Mean time of a rebalance that succeeded, in milliseconds.",
        "rebalance-latency-max": "Longest rebalance of late that succeeded, in milliseconds.",
        "rebalance-latency-total": "Milliseconds of all rebalances that succeeded.",
        "rebalance-total": "Rebalances that succeeded.",
        "rebalance-rate-per-hour": "Rebalances an hour that succeeded.",
        "failed-rebalance-total": "Attempts to join that failed.",
        "failed-rebalance-rate-per-hour": "Attempts to join an hour that failed.",
        "last-rebalance-seconds-ago": "Seconds since the last rebalance that succeeded; -1 for never.",
    },
)

GROUP_CLIENT = MetricGroup(
    "connect-metrics",
    "kafka_connect",
    ("clientid",),
    {
        "connection-count": "Connections of the group's member to brokers.",
        "connection-creation-rate": "Connections made a second.",
        "connection-close-rate": "Connections closed a second.",
        "network-io-rate": "Reads and writes of connections a second.",
        "outgoing-byte-rate": "Bytes sent a second.",
        "incoming-byte-rate": "Bytes received a second.",
        "request-rate": "Requests a second.",
        "request-size-avg": "Mean size of a request, in bytes.",
        "request-size-max": "Largest request of late, in bytes.",
        "response-rate": "Responses a second.",
    },
)

CONNECTOR = MetricGroup(
    "connector-metrics",
    "kafka_connect_connector",
    ("connector",),
    texts={"status": "State of the connector, in lower case.", **_PLUGIN_TEXTS},
)

TASK = MetricGroup(
    "connector-task-metrics",
    "kafka_connect_connector_task",
    _TASK,
    {
        "running-ratio": "Part of its time that the task was running, from 0 to 1.",
        "pause-ratio": "Part of its time that the task was paused, from 0 to 1.",
        "offset-commit-max-time-ms": "Longest commit of offsets of late, in milliseconds.",
        "offset-commit-avg-time-ms": "Mean time of a commit of offsets, in milliseconds.",
        "batch-size-max": "Records in the biggest batch of late.",
        "batch-size-avg": "Mean number of records in a batch.",
        "offset-commit-failure-percentage": "Part of the commits of late that failed, from 0 to 1.",
        "offset-commit-success-percentage": "Part of the commits of late that succeeded, from 0 to 1.",
        "last-record-seconds-ago": "Seconds since records were last delivered, or since the task began. Not in Java.",
        "throttle-time-ms-total": "Milliseconds that the task has waited for its rate limit. Not in Java.",
    },
    {
        "status": "State of the task, in lower case.",
        **_PLUGIN_TEXTS,
        "task-class": "Class of the task.",
        "task-version": "Version of the task.",
        **{
            f"{side}-converter-{name}": f"{name.capitalize()} of the converter of {side}s."
            for side in ("key", "value", "header")
            for name in ("class", "version")
        },
    },
)

SOURCE_TASK = MetricGroup(
    "source-task-metrics",
    "kafka_connect_source_task",
    _TASK,
    {
        "source-record-poll-rate": "Records polled a second, before transforms.",
        "source-record-poll-total": "Records polled since the task began, before transforms.",
        "source-record-write-rate": "Records that Kafka acknowledged a second.",
        "source-record-write-total": "Records that Kafka acknowledged since the task began.",
        "poll-batch-max-time-ms": "Longest poll of late that brought records, in milliseconds.",
        "poll-batch-avg-time-ms": "Mean time of a poll that brought records, in milliseconds.",
        "source-record-active-count": "Records polled that Kafka has not acknowledged yet.",
        "source-record-active-count-max": "The most of them of late.",
        "source-record-active-count-avg": "Their mean number.",
        "transaction-size-min": "Records of the smallest transaction of late.",
        "transaction-size-max": "Records of the largest transaction of late.",
        "transaction-size-avg": "Mean number of records in a transaction.",
        "turn-wait-max-time-ms": "Longest wait of late of a large batch for its turn, in milliseconds. Not in Java.",
        "turn-wait-time-ms-total": "Milliseconds that large batches waited for their turns in all. Not in Java.",
    },
)

SINK_TASK = MetricGroup(
    "sink-task-metrics",
    "kafka_connect_sink_task",
    _TASK,
    {
        "sink-record-read-rate": "Records read from Kafka a second, before transforms.",
        "sink-record-read-total": "Records read from Kafka since the task began, before transforms.",
        "sink-record-send-rate": "Records put a second, after transforms.",
        "sink-record-send-total": "Records put since the task began, after transforms.",
        "sink-record-lag-max": "Records that the partition furthest behind has still to give. Java never reports it.",
        "sink-record-lag": "Records that all partitions of the task have still to give. Not in Java.",
        "partition-count": "Partitions assigned to the task.",
        "offset-commit-seq-no": "Number of the last commit of offsets.",
        "offset-commit-completion-rate": "Commits of offsets a second that succeeded.",
        "offset-commit-completion-total": "Commits of offsets that succeeded.",
        "offset-commit-skip-rate": "Answers to commits a second that came too late to count.",
        "offset-commit-skip-total": "Answers to commits that came too late to count.",
        "put-batch-max-time-ms": "Longest put of late, with the reading that it starts, in milliseconds.",
        "put-batch-avg-time-ms": "Mean time of a put, with the reading that it starts, in milliseconds.",
        "sink-record-active-count": "Records put whose offsets are not committed yet.",
        "sink-record-active-count-max": "The most of them of late.",
        "sink-record-active-count-avg": "Their mean number.",
    },
)

TASK_ERRORS = MetricGroup(
    "task-error-metrics",
    "kafka_connect_task_error",
    _TASK,
    {
        "total-record-failures": "Failures to process a record.",
        "total-record-errors": "Records that could not be processed.",
        "total-records-skipped": "Records left out because of errors.",
        "total-retries": "Operations that were tried again.",
        "total-errors-logged": "Errors of records that were logged.",
        "deadletterqueue-produce-requests": "Records to be written to the dead letter queue.",
        "deadletterqueue-produce-failures": "Records that could not be written to the dead letter queue.",
        "last-error-timestamp": "When the last error happened, in milliseconds since the epoch; 0 for never.",
    },
)

TRANSFORM = MetricGroup(
    "connector-transform-metrics",
    "kafka_connect_connector_transform",
    (*_TASK, "transform"),
    texts={"transform-class": "Class of the transform.", "transform-version": "Version of the transform."},
)

PREDICATE = MetricGroup(
    "connector-predicate-metrics",
    "kafka_connect_connector_predicate",
    (*_TASK, "predicate"),
    texts={"predicate-class": "Class of the predicate.", "predicate-version": "Version of the predicate."},
)

GROUPS = (
    APP_INFO,
    WORKER,
    WORKER_CONNECTOR,
    REBALANCE,
    COORDINATOR,
    GROUP_CLIENT,
    CONNECTOR,
    TASK,
    SOURCE_TASK,
    SINK_TASK,
    TASK_ERRORS,
    TRANSFORM,
    PREDICATE,
)
