import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.debezium.config.Configuration;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.connector.Connector;
import org.apache.kafka.connect.runtime.AbstractHerder;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Prints the configuration definitions of the named connectors and transforms as JSON.
 *
 * <p>A key of a connector also has what Debezium's own validation of an empty configuration says of it: whether it has
 * an error, and the recommended values, which are not in the definition.
 */
public class DebeziumOptionsInJava {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] names) throws Exception {
        Map<String, List<Object>> answer = new LinkedHashMap<>();
        for (String name : names) {
            Object plugin = Class.forName(name).getDeclaredConstructor().newInstance();
            List<Object> keys = new ArrayList<>();
            if (plugin instanceof Connector connector) {
                Map<String, ConfigValue> checked = checked(connector);
                for (ConfigDef.ConfigKey key : connector.config().configKeys().values()) {
                    keys.add(described(key, checked.get(key.name)));
                }
            } else {
                for (ConfigDef.ConfigKey key : ((Transformation<?>) plugin).config().configKeys().values()) {
                    keys.add(AbstractHerder.convertConfigKey(key));
                }
            }
            answer.put(name, keys);
        }
        System.out.println("ANSWER" + JSON.writeValueAsString(answer));
    }

    private static Map<String, Object> described(ConfigDef.ConfigKey key, ConfigValue checked) {
        Map<String, Object> found = new LinkedHashMap<>();
        JsonNode info = JSON.valueToTree(AbstractHerder.convertConfigKey(key));
        info.fields().forEachRemaining(field -> found.put(field.getKey(), field.getValue()));
        found.put("wrong_if_missing", checked != null && !checked.errorMessages().isEmpty());
        found.put("recommended", checked == null ? List.of() : texts(checked.recommendedValues()));
        return found;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, ConfigValue> checked(Connector connector) throws Exception {
        Method validate = null;
        for (Class<?> type = connector.getClass(); validate == null; type = type.getSuperclass()) {
            validate = Stream.of(type.getDeclaredMethods())
                    .filter(one -> one.getName().equals("validateAllFields")
                            && !Modifier.isAbstract(one.getModifiers()))
                    .findFirst()
                    .orElse(null);
        }
        validate.setAccessible(true);
        return (Map<String, ConfigValue>) validate.invoke(connector, Configuration.empty());
    }

    private static List<String> texts(List<Object> values) {
        return values.stream().map(String::valueOf).toList();
    }
}
