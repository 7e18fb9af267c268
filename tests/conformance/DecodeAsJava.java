import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/** Reads hexadecimal bytes, one text a line, and answers what Java's file source would read, as UTF-16 in hexadecimal. */
public class DecodeAsJava {
    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder output = new StringBuilder();
        String line;
        while ((line = input.readLine()) != null) {
            byte[] bytes = HexFormat.of().parseHex(line);
            InputStreamReader reader = new InputStreamReader(new ByteArrayInputStream(bytes), StandardCharsets.UTF_8);
            StringBuilder text = new StringBuilder();
            for (int unit = reader.read(); unit >= 0; unit = reader.read()) {
                text.append((char) unit);
            }
            output.append(HexFormat.of().formatHex(text.toString().getBytes(StandardCharsets.UTF_16BE))).append('\n');
        }
        System.out.print(output);
    }
}
