package org.apache.kafka.connect.runtime.distributed;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeAssignor.ClusterAssignment;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator.ConnectorsAndTasks;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.util.ConnectUtils;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Has Kafka's IncrementalCooperativeAssignor decide rounds of rebalancing.
 *
 * <p>Each line of standard input is a scenario, {@code {"max_delay": ms, "rounds": [...]}}, each line of standard output
 * the decisions of one assignor on its rounds. It lies in Kafka's package because the method it calls does.
 */
public class AssignorInJava {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(decisions(JSON.readTree(line)));
        }
    }

    private static ArrayNode decisions(JsonNode scenario) {
        SetClock clock = new SetClock();
        IncrementalCooperativeAssignor assignor =
                new IncrementalCooperativeAssignor(new LogContext(), clock, scenario.get("max_delay").asInt());
        ArrayNode decided = JSON.createArrayNode();
        for (JsonNode round : scenario.get("rounds")) {
            clock.now = round.get("now").asLong();
            ClusterAssignment assignment = assignor.performTaskAssignment(
                    configured(round.get("connectors")),
                    round.get("last_completed_generation").asInt(),
                    round.get("generation").asInt(),
                    allocations(round.get("allocations")));
            decided.add(answer(assignment, round.get("allocations"), assignor.delay));
        }
        return decided;
    }

    private static ClusterConfigState configured(JsonNode connectors) {
        Map<String, Integer> tasks = new HashMap<>();
        Map<String, Map<String, String>> configs = new HashMap<>();
        connectors.properties().forEach(connector -> {
            tasks.put(connector.getKey(), connector.getValue().asInt());
            configs.put(connector.getKey(), Map.of());
        });
        return new ClusterConfigState(0, null, tasks, configs, Map.of(), Map.of(), Map.of(), Map.of(), Map.of(),
                Set.of(), Set.of());
    }

    /** Maps are made as a leader makes them from the response to its JoinGroup request, for their order. */
    private static Map<String, ConnectorsAndTasks> allocations(JsonNode members) {
        Map<String, JsonNode> metadata = new HashMap<>();
        members.properties().forEach(member -> metadata.put(member.getKey(), member.getValue()));
        return ConnectUtils.transformValues(metadata, AssignorInJava::allocation);
    }

    private static ConnectorsAndTasks allocation(JsonNode work) {
        List<String> connectors = new ArrayList<>();
        work.get(0).forEach(name -> connectors.add(name.asText()));
        List<ConnectorTaskId> tasks = new ArrayList<>();
        work.get(1).forEach(task -> tasks.add(new ConnectorTaskId(task.get(0).asText(), task.get(1).asInt())));
        return new ConnectorsAndTasks.Builder().with(connectors, tasks).build();
    }

    private static ObjectNode answer(ClusterAssignment assignment, JsonNode members, int delay) {
        ObjectNode answer = JSON.createObjectNode().put("delay", delay);
        ObjectNode assigned = answer.putObject("assigned");
        ObjectNode revoked = answer.putObject("revoked");
        ObjectNode allocations = answer.putObject("allocations");
        members.fieldNames().forEachRemaining(member -> {
            assigned.set(member,
                    work(assignment.newlyAssignedConnectors(member), assignment.newlyAssignedTasks(member)));
            revoked.set(member, work(assignment.newlyRevokedConnectors(member), assignment.newlyRevokedTasks(member)));
            allocations.set(member,
                    work(assignment.allAssignedConnectors().get(member), assignment.allAssignedTasks().get(member)));
        });
        return answer;
    }

    private static ArrayNode work(Collection<String> connectors, Collection<ConnectorTaskId> tasks) {
        ArrayNode work = JSON.createArrayNode();
        ArrayNode names = work.addArray();
        connectors.forEach(names::add);
        ArrayNode numbers = work.addArray();
        tasks.forEach(task -> numbers.addArray().add(task.connector()).add(task.task()));
        return work;
    }

    /** A clock that stands where it was set. */
    private static class SetClock implements Time {
        private long now;

        @Override
        public long milliseconds() {
            return now;
        }

        @Override
        public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override
        public void sleep(long milliseconds) {
            now += milliseconds;
        }

        @Override
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException();
        }
    }
}
