import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Times Java's plugins over records held in memory: each line asks for one plugin, the answer is the seconds that each
 * round over all records took, of the clock and of the processor. The argument is a file of JSON envelopes.
 */
@SuppressWarnings({"unchecked", "rawtypes"})
public class RecordsBench {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static long kept;

    public static void main(String[] args) throws Exception {
        JsonConverter reader = new JsonConverter();
        reader.configure(Map.of("schemas.enable", "true", "converter.type", "value"));
        List<SinkRecord> records = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            SchemaAndValue data = reader.toConnectData("topic", line.getBytes(StandardCharsets.UTF_8));
            records.add(new SinkRecord("topic", 0, null, null, data.schema(), data.value(), records.size(),
                1_700_000_000_000L, TimestampType.CREATE_TIME));
        }
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode asked = JSON.readTree(line);
            System.out.println(JSON.writeValueAsString(timed(asked, records)));
        }
    }

    private static JsonNode timed(JsonNode asked, List<SinkRecord> records) throws Exception {
        Object plugin = Class.forName(asked.get("class").asText()).getDeclaredConstructor().newInstance();
        Map<String, String> config = new HashMap<>();
        asked.get("config").properties().forEach(one -> config.put(one.getKey(), one.getValue().asText()));
        Consumer<SinkRecord> step;
        List<SinkRecord> given = records;
        if (plugin instanceof Transformation transform) {
            transform.configure(config);
            step = record -> kept += transform.apply(record) == null ? 0 : 1;
        } else {
            Converter converter = (Converter) plugin;
            converter.configure(config, false);
            String field = asked.path("field").asText(null);
            if (field != null) given = only(field, records);
            if (asked.get("do").asText().equals("write")) {
                step = record -> kept += converter.fromConnectData("topic", record.valueSchema(), record.value()).length;
            } else {
                List<SinkRecord> written = new ArrayList<>();
                for (SinkRecord one : given)
                    written.add(new SinkRecord("topic", 0, null, null, null,
                        converter.fromConnectData("topic", one.valueSchema(), one.value()), 0));
                given = written;
                step = record -> kept += converter.toConnectData("topic", (byte[]) record.value()).value() == null ? 0 : 1;
            }
        }
        ArrayNode rounds = JSON.createArrayNode();
        for (int round = 0; round < asked.get("rounds").asInt(); round++) {
            long began = System.nanoTime();
            given.forEach(step);
            rounds.add((System.nanoTime() - began) / 1e9);
        }
        return JSON.createObjectNode().put("kept", kept).set("seconds", rounds);
    }

    private static List<SinkRecord> only(String field, List<SinkRecord> records) {
        List<SinkRecord> found = new ArrayList<>();
        for (SinkRecord one : records) {
            var struct = (org.apache.kafka.connect.data.Struct) one.value();
            found.add(new SinkRecord("topic", 0, null, null, struct.schema().field(field).schema(), struct.get(field), 0));
        }
        return found;
    }
}
