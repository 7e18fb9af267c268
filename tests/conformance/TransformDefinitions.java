import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.runtime.AbstractHerder;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Prints the configuration definitions of the named transforms and predicates as JSON. */
public class TransformDefinitions {
    public static void main(String[] names) throws Exception {
        Map<String, List<Object>> answer = new LinkedHashMap<>();
        for (String name : names) {
            Object plugin = Class.forName(name).getDeclaredConstructor().newInstance();
            ConfigDef config =
                plugin instanceof Transformation<?> one ? one.config() : ((Predicate<?>) plugin).config();
            List<Object> infos = new ArrayList<>();
            for (ConfigDef.ConfigKey key : config.configKeys().values())
                infos.add(AbstractHerder.convertConfigKey(key));
            answer.put(name, infos);
        }
        System.out.println("ANSWER" + new ObjectMapper().writeValueAsString(answer));
    }
}
