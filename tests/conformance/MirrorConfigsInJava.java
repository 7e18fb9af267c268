import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.mirror.MirrorMaker;
import org.apache.kafka.connect.mirror.MirrorMakerConfig;
import org.apache.kafka.connect.mirror.SourceAndTarget;
import org.apache.kafka.connect.runtime.AbstractHerder;

/**
 * Answers questions about configurations of MirrorMaker with Kafka's own classes.
 *
 * <p>Each line of standard input is an object with a kind, each line of standard output is its answer. Methods that
 * only Kafka's package may call are called by reflection.
 */
public class MirrorConfigsInJava {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PACKAGE = "org.apache.kafka.connect.mirror.";

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(answer(JSON.readTree(line)));
        }
    }

    private static JsonNode answer(JsonNode question) throws Exception {
        return switch (question.get("kind").asText()) {
            case "definitions" -> definitions();
            case "flows" -> flows(properties(question));
            case "errors" -> errors(question.get("connector").asText(), properties(question));
            default -> clients(question.get("config").asText(), properties(question));
        };
    }

    private static JsonNode definitions() throws Exception {
        ObjectNode found = JSON.createObjectNode();
        for (String name : new String[] {"MirrorSource", "MirrorCheckpoint", "MirrorHeartbeat"}) {
            ConfigDef definition = (ConfigDef) constant(name + "Config", "CONNECTOR_CONFIG_DEF");
            ArrayNode keys = found.putArray(name + "Connector");
            for (ConfigDef.ConfigKey key : definition.configKeys().values()) {
                keys.add(JSON.<JsonNode>valueToTree(AbstractHerder.convertConfigKey(key)));
            }
        }
        ArrayNode cluster = found.putArray("cluster");
        ConfigDef access = (ConfigDef) constant("MirrorClientConfig", "CLIENT_CONFIG_DEF");
        access.names().stream().sorted().forEach(cluster::add);
        return found;
    }

    private static JsonNode flows(Map<String, String> properties) {
        MirrorMakerConfig config = new MirrorMakerConfig(properties);
        ObjectNode found = JSON.createObjectNode();
        for (SourceAndTarget pair : config.clusterPairs()) {
            ObjectNode flow = found.putObject(pair.toString());
            flow.set("worker", JSON.valueToTree(config.workerConfig(pair)));
            ObjectNode connectors = flow.putObject("connectors");
            for (Class<?> connector : MirrorMaker.CONNECTOR_CLASSES) {
                connectors.set(
                        connector.getSimpleName(), JSON.valueToTree(config.connectorBaseConfig(pair, connector)));
            }
        }
        return found;
    }

    private static JsonNode errors(String connector, Map<String, String> properties) throws Exception {
        Connector made = (Connector) Class.forName(PACKAGE + connector).getConstructor().newInstance();
        ObjectNode found = JSON.createObjectNode();
        for (ConfigValue value : made.validate(properties).configValues()) {
            if (!value.errorMessages().isEmpty()) {
                ArrayNode texts = found.putArray(value.name());
                value.errorMessages().forEach(texts::add);
            }
        }
        return found;
    }

    private static JsonNode clients(String name, Map<String, String> properties) throws Exception {
        Object config = Class.forName(PACKAGE + name).getConstructor(Map.class).newInstance(properties);
        ObjectNode found = JSON.createObjectNode();
        for (String side : new String[] {"source", "target"}) {
            for (String kind : new String[] {"Producer", "Consumer", "Admin"}) {
                Method method = method(config.getClass(), side + kind + "Config");
                found.set(side + " " + kind.toLowerCase(), JSON.valueToTree(method.invoke(config, "role")));
            }
        }
        return found;
    }

    private static Map<String, String> properties(JsonNode question) {
        return JSON.convertValue(
                question.get("properties"),
                JSON.getTypeFactory().constructMapType(java.util.HashMap.class, String.class, String.class));
    }

    private static Object constant(String type, String name) throws Exception {
        Field field = Class.forName(PACKAGE + type).getDeclaredField(name);
        return accessible(field).get(null);
    }

    private static Method method(Class<?> type, String name) throws Exception {
        for (Class<?> declaring = type; declaring != null; declaring = declaring.getSuperclass()) {
            for (Method method : declaring.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterTypes()[0] == String.class) {
                    return accessible(method);
                }
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static <T extends AccessibleObject> T accessible(T member) {
        member.setAccessible(true);
        return member;
    }
}
