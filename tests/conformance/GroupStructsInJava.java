package org.apache.kafka.connect.runtime.distributed;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HexFormat;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Reads structs of a group of workers with Kafka's IncrementalCooperativeConnectProtocol, and writes them again.
 *
 * <p>Each line of standard input is a kind of struct, metadata or assignment, and its bytes in hexadecimal; each line of
 * standard output is an object with its fields. It lies in Kafka's package because some methods it calls do.
 */
public class GroupStructsInJava {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            ByteBuffer data = ByteBuffer.wrap(HexFormat.of().parseHex(words[1]));
            answers.println(words[0].equals("metadata") ? metadata(data) : readAssignment(data));
        }
    }

    private static ObjectNode metadata(ByteBuffer data) {
        ExtendedWorkerState state = IncrementalCooperativeConnectProtocol.deserializeMetadata(data);
        ObjectNode found = JSON.createObjectNode().put("url", state.url()).put("offset", state.offset());
        found.set("allocation", assignment(state.assignment()));
        return found.put("written", hex(IncrementalCooperativeConnectProtocol.serializeMetadata(state, true)));
    }

    private static ObjectNode readAssignment(ByteBuffer data) {
        ExtendedAssignment read = IncrementalCooperativeConnectProtocol.deserializeAssignment(data);
        return assignment(read).put(
                "written", hex(IncrementalCooperativeConnectProtocol.serializeAssignment(read, true)));
    }

    private static ObjectNode assignment(ExtendedAssignment assignment) {
        ObjectNode found = JSON.createObjectNode()
                .put("version", assignment.version())
                .put("error", assignment.error())
                .put("leader", assignment.leader())
                .put("leader_url", assignment.leaderUrl())
                .put("offset", assignment.offset());
        found.set("assigned", work(assignment.connectors(), assignment.tasks()));
        found.set("revoked", work(assignment.revokedConnectors(), assignment.revokedTasks()));
        return found.put("delay", assignment.delay());
    }

    private static ArrayNode work(Collection<String> connectors, Collection<ConnectorTaskId> tasks) {
        ArrayNode work = JSON.createArrayNode();
        ArrayNode names = work.addArray();
        connectors.forEach(names::add);
        ArrayNode numbers = work.addArray();
        tasks.forEach(task -> numbers.addArray().add(task.connector()).add(task.task()));
        return work;
    }

    private static String hex(ByteBuffer data) {
        byte[] content = new byte[data.remaining()];
        data.get(content);
        return HexFormat.of().formatHex(content);
    }
}
