import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Scanner;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Reads records with Java's JsonConverter and writes them again.
 *
 * <p>Each line of standard input is a command and an argument: {@code record} with a record's bytes in base64,
 * {@code double} or {@code float} with a number. Each line of standard output answers {@code ok}, the bytes that were
 * written and what {@code println} prints of the value, both in base64, or {@code error} and the message in base64.
 * The program's arguments are the converter's options, name and value in turn.
 */
public class ConvertersInJava {
    public static void main(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i < arguments.length; i += 2) {
            options.put(arguments[i], arguments[i + 1]);
        }
        JsonConverter converter = new JsonConverter();
        converter.configure(options, false);
        Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().split(" ", -1);
            System.out.println(answer(converter, words[0], words[1]));
        }
    }

    private static String answer(JsonConverter converter, String command, String argument) {
        try {
            SchemaAndValue read = read(converter, command, argument);
            byte[] written = converter.fromConnectData("topic", read.schema(), read.value());
            String text = String.valueOf(read.value());
            return "ok " + encoded(written) + " " + encoded(text.getBytes(StandardCharsets.UTF_8));
        } catch (RuntimeException error) {
            return "error " + encoded(error.getMessage().getBytes(StandardCharsets.UTF_8));
        }
    }

    private static SchemaAndValue read(JsonConverter converter, String command, String argument) {
        switch (command) {
            case "double":
                return new SchemaAndValue(Schema.FLOAT64_SCHEMA, Double.valueOf(argument));
            case "float":
                return new SchemaAndValue(Schema.FLOAT32_SCHEMA, Float.valueOf(argument));
            default:
                return converter.toConnectData("topic", Base64.getDecoder().decode(argument));
        }
    }

    private static String encoded(byte[] bytes) {
        return bytes == null ? "null" : Base64.getEncoder().encodeToString(bytes);
    }
}
