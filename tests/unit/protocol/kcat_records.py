"""Records of a live group's topics as kcat printed them, from a Kafka Connect without versions in statuses."""

import json

# The text is evidence: payloads are JSON inside JSON, and lines are as long as they came.
# ruff: noqa: E501
RECORDS: list[dict[str, str]] = json.loads(
    r"""[
{
  "topic": "connect-status",
  "partition": 4,
  "offset": 0,
  "tstype": "create",
  "ts": 1673759700293,
  "key": "status-connector-postgres_jdbc_ops_sink_customers_avro_01",
  "payload": "{\"state\":\"RUNNING\",\"trace\":null,\"worker_id\":\"127.0.1.1:8083\",\"generation\":8}"
},
{
  "topic": "connect-status",
  "partition": 4,
  "offset": 1,
  "tstype": "create",
  "ts": 1673759701006,
  "key": "status-task-postgres_jdbc_ops_sink_order_items_avro_01-0",
  "payload": "{\"state\":\"RUNNING\",\"trace\":null,\"worker_id\":\"127.0.1.1:8083\",\"generation\":11}"
},
{
  "topic": "connect-configs",
  "partition": 0,
  "offset": 22,
  "tstype": "create",
  "ts": 1673760549097,
  "key": "task-mysql_cdc_ops_source_avro_01-0",
  "payload": "{\"properties\":{\"connector.class\":\"io.debezium.connector.mysql.MySqlConnector\",\"transforms.rename_topic.regex\":\"(.*)\\\\.(.*)\\\\.(.*)\",\"tasks.max\":\"1\",\"database.history.kafka.topic\":\"schema-changes.mysql.oc\",\"transforms\":\"rename_topic, unwrap\",\"transforms.unwrap.drop.tombstones\":\"false\",\"transforms.unwrap.type\":\"io.debezium.transforms.ExtractNewRecordState\",\"value.converter\":\"io.confluent.connect.avro.AvroConverter\",\"key.converter\":\"io.confluent.connect.avro.AvroConverter\",\"database.connectionTimezone\":\"Asia/Seoul\",\"database.user\":\"connect_dev\",\"transforms.rename_topic.type\":\"org.apache.kafka.connect.transforms.RegexRouter\",\"database.server.id\":\"30001\",\"database.history.kafka.bootstrap.servers\":\"localhost:9092\",\"time.precision.mode\":\"connect\",\"database.server.name\":\"mysqlavro\",\"database.port\":\"3306\",\"value.converter.schema.registry.url\":\"http://localhost:8081\",\"task.class\":\"io.debezium.connector.mysql.MySqlConnectorTask\",\"database.hostname\":\"localhost\",\"database.password\":\"connect_dev\",\"name\":\"mysql_cdc_ops_source_avro_01\",\"table.include.list\":\"ops.customers, ops.products, ops.orders, ops.order_items, ops.boards\",\"key.converter.schema.registry.url\":\"http://localhost:8081\",\"database.include.list\":\"ops\",\"transforms.rename_topic.replacement\":\"$1-$2-$3\"}}"
}
]"""
)
