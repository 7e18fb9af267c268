import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/**
 * Does with Java's own plugins what it is told, one JSON object on each line, until the input ends.
 * Keys, values and header values come and go as base64 of JsonConverter's envelope; null is a null of no schema.
 */
@SuppressWarnings({"unchecked", "rawtypes"})
public class RecordsInJava {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonConverter DATA = new JsonConverter();

    public static void main(String[] args) throws Exception {
        DATA.configure(Map.of("schemas.enable", "true", "converter.type", "value", "replace.null.with.default", "false"));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode asked = JSON.readTree(line);
            JsonNode answer;
            try {
                answer = answer(asked);
            } catch (Throwable error) {
                answer = failed(error);
            }
            out.println(JSON.writeValueAsString(answer));
        }
    }

    private static JsonNode answer(JsonNode asked) throws Exception {
        Object plugin = Class.forName(asked.get("class").asText()).getDeclaredConstructor().newInstance();
        Map<String, String> config = new HashMap<>();
        asked.get("config").properties().forEach(one -> config.put(one.getKey(), one.getValue().asText()));
        ArrayNode answers = JSON.createArrayNode();
        switch (asked.get("do").asText()) {
            case "transform" -> {
                Transformation transform = cast(plugin);
                transform.configure(config);
                for (JsonNode one : asked.get("records")) answers.add(transformed(transform, one));
            }
            case "predicate" -> {
                Predicate predicate = cast(plugin);
                predicate.configure(config);
                for (JsonNode one : asked.get("records")) answers.add(predicate.test(record(one)));
            }
            case "write" -> {
                Converter converter = cast(plugin);
                converter.configure(config, asked.get("key").asBoolean());
                for (JsonNode one : asked.get("records")) answers.add(written(converter, topic(asked), one));
            }
            case "read" -> {
                Converter converter = cast(plugin);
                converter.configure(config, asked.get("key").asBoolean());
                for (JsonNode one : asked.get("records")) answers.add(read(converter, topic(asked), one));
            }
            case "write header" -> {
                HeaderConverter converter = cast(plugin);
                config.put("converter.type", "header");
                converter.configure(config);
                for (JsonNode one : asked.get("records")) answers.add(headerWritten(converter, one));
            }
            case "read header" -> {
                HeaderConverter converter = cast(plugin);
                config.put("converter.type", "header");
                converter.configure(config);
                for (JsonNode one : asked.get("records")) answers.add(headerRead(converter, one));
            }
            default -> throw new IllegalArgumentException(asked.get("do").asText());
        }
        return answers;
    }

    private static JsonNode transformed(Transformation transform, JsonNode one) {
        try {
            ConnectRecord<?> after = (ConnectRecord<?>) transform.apply(record(one));
            if (after == null) return JSON.createObjectNode().put("dropped", true);
            ObjectNode said = JSON.createObjectNode();
            said.put("topic", after.topic());
            said.put("partition", after.kafkaPartition());
            said.put("timestamp", after.timestamp());
            said.put("key", text(after.keySchema(), after.key()));
            said.put("value", text(after.valueSchema(), after.value()));
            ArrayNode headers = said.putArray("headers");
            for (Header header : after.headers()) headers.addArray().add(header.key()).add(text(header.schema(), header.value()));
            return said;
        } catch (Throwable error) {
            return failed(error);
        }
    }

    private static String topic(JsonNode asked) {
        return asked.path("topic").asText("topic");
    }

    private static JsonNode written(Converter converter, String topic, JsonNode one) {
        try {
            SchemaAndValue data = data(one);
            return said(converter.fromConnectData(topic, data.schema(), data.value()));
        } catch (Throwable error) {
            return failed(error);
        }
    }

    private static JsonNode read(Converter converter, String topic, JsonNode one) {
        try {
            SchemaAndValue data = converter.toConnectData(topic, bytes(one));
            return JSON.createObjectNode().put("data", text(data.schema(), data.value()));
        } catch (Throwable error) {
            return failed(error);
        }
    }

    private static JsonNode headerWritten(HeaderConverter converter, JsonNode one) {
        try {
            SchemaAndValue data = data(one);
            return said(converter.fromConnectHeader("topic", "header", data.schema(), data.value()));
        } catch (Throwable error) {
            return failed(error);
        }
    }

    private static JsonNode headerRead(HeaderConverter converter, JsonNode one) {
        try {
            SchemaAndValue data = converter.toConnectHeader("topic", "header", bytes(one));
            return JSON.createObjectNode().put("data", text(data.schema(), data.value()));
        } catch (Throwable error) {
            return failed(error);
        }
    }

    private static JsonNode said(byte[] bytes) {
        return JSON.createObjectNode().put("data", bytes == null ? null : Base64.getEncoder().encodeToString(bytes));
    }

    private static ObjectNode failed(Throwable error) {
        return JSON.createObjectNode().put("error", error.getClass().getName()).put("message", error.getMessage());
    }

    private static ConnectRecord<?> record(JsonNode one) {
        SchemaAndValue key = data(one.get("key")), value = data(one.get("value"));
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : one.get("headers")) headers.add(header.get(0).asText(), data(header.get(1)));
        String topic = one.get("topic").asText();
        Integer partition = one.get("partition").isNull() ? null : one.get("partition").asInt();
        Long timestamp = one.get("timestamp").isNull() ? null : one.get("timestamp").asLong();
        if (one.get("offset").isNull())
            return new SourceRecord(Map.of("p", 1), Map.of("o", 1), topic, partition, key.schema(), key.value(),
                value.schema(), value.value(), timestamp, headers);
        return new SinkRecord(topic, partition, key.schema(), key.value(), value.schema(), value.value(),
            one.get("offset").asLong(), timestamp, TimestampType.CREATE_TIME, headers);
    }

    private static SchemaAndValue data(JsonNode one) {
        return one.isNull() ? SchemaAndValue.NULL : DATA.toConnectData("topic", bytes(one));
    }

    private static byte[] bytes(JsonNode one) {
        return one.isNull() ? null : Base64.getDecoder().decode(one.asText());
    }

    private static String text(org.apache.kafka.connect.data.Schema schema, Object value) {
        byte[] bytes = DATA.fromConnectData("topic", schema, value);
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }


    private static <T> T cast(Object plugin) {
        return (T) plugin;
    }
}
