package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.source.SourceConnector;

/**
 * Asks MirrorMaker's classes for names, bytes, syncs and translations.
 *
 * <p>Each line of standard input is a question, an object whose field {@code do} names a method below; each line of
 * standard output is its answer. It lies in MirrorMaker's package because most methods it calls do.
 */
public class MirrorInJava {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final TypeReference<Map<String, String>> TEXTS = new TypeReference<>() { };
    private static final TypeReference<List<String>> NAMES = new TypeReference<>() { };
    private static final TypeReference<Map<String, Object>> OBJECT = new TypeReference<>() { };

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static Object answer(JsonNode question) throws Exception {
        switch (question.get("do").asText()) {
            case "policy": return policy(question);
            case "filter": return filter(question);
            case "write": return write(question);
            case "read": return read(question);
            case "due": return due(question);
            case "store": return store(question);
            case "checkpoints": return checkpoints(question);
            case "tasks": return tasks(question);
            case "alter": return alter(question);
            case "keys": return keys();
            case "client": return client(question);
            default: throw new IllegalArgumentException(question.toString());
        }
    }

    private static Object policy(JsonNode question) throws Exception {
        DefaultReplicationPolicy policy = made(question.get("class").asText(), question.get("config"));
        MirrorSourceConnector connector =
                new MirrorSourceConnector(new SourceAndTarget("eu", "us"), policy, topic -> false, null);
        MirrorCheckpointTask task = new MirrorCheckpointTask("eu", "us", policy, null, Set.of(), Map.of(), null);
        ObjectNode found = JSON.createObjectNode()
                .put("heartbeats", policy.heartbeatsTopic())
                .put("offset_syncs", policy.offsetSyncsTopic("eu"))
                .put("checkpoints", policy.checkpointsTopic("eu"));
        ArrayNode topics = found.putArray("topics");
        for (String topic : JSON.convertValue(question.get("topics"), NAMES)) {
            topics.addArray()
                    .add(policy.formatRemoteTopic("eu", topic))
                    .add(policy.topicSource(topic))
                    .add(policy.upstreamTopic(topic))
                    .add(policy.originalTopic(topic))
                    .add(task.renameTopicPartition(new TopicPartition(topic, 0)).topic())
                    .add(policy.isHeartbeatsTopic(topic))
                    .add(policy.isCheckpointsTopic(topic))
                    .add(policy.isMM2InternalTopic(topic))
                    .add(policy.isInternalTopic(topic))
                    .add(connector.isCycle(topic))
                    .add(connector.shouldReplicateTopic(topic));
        }
        return found;
    }

    private static Object filter(JsonNode question) {
        Predicate<String> accepts;
        try {
            Object filter = made(question.get("class").asText(), question.get("config"));
            accepts = filter instanceof TopicFilter ? ((TopicFilter) filter)::shouldReplicateTopic
                    : filter instanceof GroupFilter ? ((GroupFilter) filter)::shouldReplicateGroup
                    : ((ConfigPropertyFilter) filter)::shouldReplicateConfigProperty;
        } catch (Exception e) {
            return e.getClass().getName();
        }
        return JSON.convertValue(question.get("names"), NAMES).stream().filter(accepts).toList();
    }

    private static Object write(JsonNode question) {
        TopicPartition partition = partition(question.get("partition"));
        long upstream = question.get("upstream").asLong();
        long downstream = question.get("downstream").asLong();
        String text = question.get("text").asText();
        OffsetSync sync = new OffsetSync(partition, upstream, downstream);
        Checkpoint checkpoint = new Checkpoint(text, partition, upstream, downstream, text);
        Heartbeat heartbeat = new Heartbeat(partition.topic(), text, upstream);
        return List.of(
                List.of(hex(sync.recordKey()), hex(sync.recordValue()), sync.toString()),
                List.of(hex(checkpoint.recordKey()), hex(checkpoint.recordValue()), checkpoint.toString()),
                List.of(hex(heartbeat.recordKey()), hex(heartbeat.recordValue()), heartbeat.toString()));
    }

    private static Object read(JsonNode question) {
        HexFormat hex = HexFormat.of();
        byte[] key = hex.parseHex(question.get("key").asText());
        byte[] value = hex.parseHex(question.get("value").asText());
        ConsumerRecord<byte[], byte[]> record = new ConsumerRecord<>("topic", 0, 0, key, value);
        try {
            switch (question.get("kind").asText()) {
                case "OffsetSync": return OffsetSync.deserializeRecord(record).toString();
                case "Checkpoint": return Checkpoint.deserializeRecord(record).toString();
                default: return Heartbeat.deserializeRecord(record).toString();
            }
        } catch (RuntimeException e) {
            return null;
        }
    }

    private static Object due(JsonNode question) {
        OffsetSyncWriter.PartitionState state =
                new OffsetSyncWriter.PartitionState(question.get("lag_max").asLong());
        List<Boolean> due = new ArrayList<>();
        for (JsonNode pair : question.get("pairs")) {
            due.add(state.update(pair.get(0).asLong(), pair.get(1).asLong()));
            state.reset();
        }
        return due;
    }

    private static Object store(JsonNode question) {
        Store store = new Store(question.get("before"), question.get("must_read_to_end").asBoolean());
        List<Object> states = new ArrayList<>();
        states.add(store.state());
        for (JsonNode pair : question.get("after")) {
            store.take(pair);
            states.add(store.state());
        }
        List<Long> translated = new ArrayList<>();
        for (JsonNode offset : question.get("offsets")) {
            OptionalLong found = store.translateDownstream("group", Store.PARTITION, offset.asLong());
            translated.add(found.isPresent() ? found.getAsLong() : null);
        }
        return Map.of("states", states, "translated", translated);
    }

    private static Object checkpoints(JsonNode question) throws Exception {
        Store store = new Store(question.get("syncs"), false);
        Map<TopicPartition, Checkpoint> emitted = new HashMap<>();
        for (JsonNode last : question.get("emitted")) {
            TopicPartition partition = new TopicPartition("eu.orders", last.get(0).asInt());
            emitted.put(partition, new Checkpoint("g", partition, last.get(1).asLong(), last.get(2).asLong(), ""));
        }
        DefaultReplicationPolicy policy = new DefaultReplicationPolicy();
        MirrorCheckpointTask task = new MirrorCheckpointTask(
                "eu", "us", policy, store, Set.of("g"), Map.of(), new CheckpointStore(Map.of("g", emitted)));
        Map<TopicPartition, OffsetAndMetadata> committed = new HashMap<>();
        for (JsonNode one : question.get("committed")) {
            OffsetAndMetadata offset =
                    one.get(1).isNull() ? null : new OffsetAndMetadata(one.get(1).asLong(), one.get(2).asText());
            committed.put(new TopicPartition("orders", one.get(0).asInt()), offset);
        }
        return task.checkpointsForGroup(committed, "g").values().stream().map(Checkpoint::toString).sorted().toList();
    }

    private static Object tasks(JsonNode question) {
        int maxTasks = question.get("max_tasks").asInt();
        Map<String, String> props = JSON.convertValue(question.get("config"), TEXTS);
        List<TopicPartition> partitions = new ArrayList<>();
        question.get("partitions").forEach(each -> partitions.add(partition(each)));
        Set<String> groups = new LinkedHashSet<>(JSON.convertValue(question.get("groups"), NAMES));
        List<Map<String, String>> ofPartitions =
                new MirrorSourceConnector(partitions, new MirrorSourceConfig(props)).taskConfigs(maxTasks);
        List<Map<String, String>> ofGroups =
                new MirrorCheckpointConnector(groups, new MirrorCheckpointConfig(props)).taskConfigs(maxTasks);
        return Map.of("partitions", ofPartitions, "groups", ofGroups);
    }

    private static Object alter(JsonNode question) throws Exception {
        Map<Map<String, ?>, Map<String, ?>> offsets = new LinkedHashMap<>();
        question.get("offsets").forEach(entry -> offsets.put(
                JSON.convertValue(entry.get(0), OBJECT), JSON.convertValue(entry.get(1), OBJECT)));
        SourceConnector connector = make(question.get("class").asText());
        try {
            return connector.alterOffsets(Map.of(), offsets);
        } catch (RuntimeException e) {
            return e.getMessage();
        }
    }

    private static Object keys() {
        TopicPartition partition = new TopicPartition("orders", 3);
        return List.of(
                MirrorUtils.wrapPartition(partition, "eu"),
                new Checkpoint("billing", partition, 1000, 990, "").connectPartition(),
                new Heartbeat("eu", "us", 0).connectPartition(),
                MirrorUtils.wrapOffset(1000));
    }

    /** Asks a cluster, as users of {@link RemoteClusterUtils} do. */
    private static Object client(JsonNode question) throws Exception {
        Map<String, Object> cluster = JSON.convertValue(question.get("cluster"), OBJECT);
        String alias = question.get("alias").asText();
        Map<TopicPartition, OffsetAndMetadata> offsets = RemoteClusterUtils.translateOffsets(
                cluster, alias, question.get("group").asText(), Duration.ofSeconds(30));
        Map<String, Long> translated = new TreeMap<>();
        offsets.forEach((partition, offset) -> translated.put(partition.toString(), offset.offset()));
        return Map.of(
                "offsets", translated,
                "hops", RemoteClusterUtils.replicationHops(cluster, alias),
                "heartbeats", new TreeSet<>(RemoteClusterUtils.heartbeatTopics(cluster)),
                "checkpoints", new TreeSet<>(RemoteClusterUtils.checkpointTopics(cluster)),
                "upstream", new TreeSet<>(RemoteClusterUtils.upstreamClusters(cluster)));
    }

    private static <T extends Configurable> T made(String className, JsonNode config) throws Exception {
        T made = make(className);
        made.configure(JSON.convertValue(config, TEXTS));
        return made;
    }

    @SuppressWarnings("unchecked")
    private static <T> T make(String className) throws Exception {
        return (T) Class.forName(className).getDeclaredConstructor().newInstance();
    }

    private static TopicPartition partition(JsonNode pair) {
        return new TopicPartition(pair.get(0).asText(), pair.get(1).asInt());
    }

    private static String hex(byte[] data) {
        return HexFormat.of().formatHex(data);
    }

    /** Syncs that come from a test instead of a topic: some before the end of the first read, some after it. */
    private static class Store extends OffsetSyncStore {
        static final TopicPartition PARTITION = new TopicPartition("orders", 0);
        private final JsonNode before;

        Store(JsonNode before, boolean mustReadToEnd) {
            this.before = before;
            start(mustReadToEnd);
        }

        @Override
        void backingStoreStart() {
            before.forEach(this::take);
        }

        void take(JsonNode pair) {
            OffsetSync sync = new OffsetSync(PARTITION, pair.get(0).asLong(), pair.get(1).asLong());
            handleRecord(new ConsumerRecord<>("syncs", 0, 0, sync.recordKey(), sync.recordValue()));
        }

        /** Returns each kept sync with the first place that it has. */
        List<List<Long>> state() {
            List<List<Long>> state = new ArrayList<>();
            OffsetSync last = null;
            for (int place = 0; place < SYNCS_PER_PARTITION; place++) {
                OffsetSync sync;
                try {
                    sync = syncFor(PARTITION, place);
                } catch (IllegalArgumentException e) {
                    return state;
                }
                if (sync != last) {
                    state.add(List.of((long) place, sync.upstreamOffset(), sync.downstreamOffset()));
                }
                last = sync;
            }
            return state;
        }
    }
}
