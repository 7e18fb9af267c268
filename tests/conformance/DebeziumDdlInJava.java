import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.debezium.connector.binlog.charset.BinlogCharsetRegistry;
import io.debezium.connector.binlog.jdbc.BinlogSystemVariables.BinlogScope;
import io.debezium.document.ArrayWriter;
import io.debezium.relational.TableId;
import io.debezium.relational.Tables;
import io.debezium.relational.ddl.DdlChanges;
import io.debezium.relational.ddl.DdlParser;
import io.debezium.relational.ddl.DdlParserListener;
import io.debezium.relational.history.JsonTableChangeSerializer;
import io.debezium.relational.history.TableChanges;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.TreeSet;

/**
 * Runs statements through a Debezium connector's parser, and prints the tables that they leave.
 *
 * <p>The arguments are the classes of the parser and of its charsets. Each line of standard input is an object with
 * statements, the database that they begin in, variables of the server, and whether comments are kept; each line of
 * standard output has the tables as they stand in a schema history, and the events of each statement or its error.
 */
@SuppressWarnings("deprecation") // fields() of JsonNode, which has another name in newer versions
public class DebeziumDdlInJava {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] classes) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // what the parser prints
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(answer(classes[0], classes[1], JSON.readTree(line)));
        }
    }

    private static JsonNode answer(String parserClass, String charsetsClass, JsonNode question) throws Exception {
        Object charsets = Class.forName(charsetsClass).getConstructor().newInstance();
        DdlParser parser = (DdlParser) Class.forName(parserClass)
                .getConstructor(boolean.class, boolean.class, boolean.class, Tables.TableFilter.class,
                        BinlogCharsetRegistry.class)
                .newInstance(true, false, question.get("comments").asBoolean(), Tables.TableFilter.includeAll(),
                        charsets);
        question.get("variables").fields().forEachRemaining(variable -> parser.systemVariables()
                .setVariable(BinlogScope.GLOBAL, variable.getKey(), variable.getValue().asText()));
        Tables tables = new Tables();
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode statements = answer.putArray("statements");
        for (JsonNode statement : question.get("statements")) {
            parser.setCurrentSchema(question.get("database").asText());
            statements.add(parsed(parser, statement.asText(), tables));
        }
        answer.set("tables", serialized(tables));
        return answer;
    }

    private static JsonNode parsed(DdlParser parser, String statement, Tables tables) throws Exception {
        try {
            DdlChanges changes = parser.parse(statement, tables);
            ArrayNode events = JSON.createArrayNode();
            Field found = DdlChanges.class.getDeclaredField("events");
            found.setAccessible(true);
            for (Object event : (List<?>) found.get(changes)) {
                events.add(described((DdlParserListener.Event) event, statement));
            }
            return events;
        } catch (RuntimeException error) {
            return JSON.createObjectNode().put("error", error.getClass().getName()).put("message", firstLine(error));
        }
    }

    private static JsonNode described(DdlParserListener.Event event, String statement) {
        ObjectNode found = JSON.createObjectNode().put("type", event.type().name());
        if (event instanceof DdlParserListener.TableEvent table) {
            found.put("table", text(table.tableId()));
            if (table.isView()) {
                found.put("view", true);
            }
        }
        if (event instanceof DdlParserListener.TableAlteredEvent altered && altered.previousTableId() != null) {
            found.put("previous", text(altered.previousTableId()));
        }
        if (event instanceof DdlParserListener.TableIndexEvent index) {
            found.put("table", text(index.tableId())).put("index", index.indexName());
        }
        if (event instanceof DdlParserListener.DatabaseEvent database) {
            found.put("database", database.databaseName());
        }
        if (event instanceof DdlParserListener.SetVariableEvent variable) {
            found.put("variable", variable.variableName()).put("value", variable.variableValue());
        }
        return statement.equals(event.statement()) ? found : found.put("statement", event.statement());
    }

    private static JsonNode serialized(Tables tables) throws Exception {
        TableChanges changes = new TableChanges();
        for (TableId id : new TreeSet<>(tables.tableIds())) {
            changes.create(tables.forTable(id));
        }
        return JSON.readTree(ArrayWriter.defaultWriter().write(new JsonTableChangeSerializer().serialize(changes)));
    }

    private static String text(TableId id) {
        return id == null ? null : id.toDoubleQuotedString();
    }

    private static String firstLine(RuntimeException error) {
        return String.valueOf(error.getMessage()).lines().findFirst().orElse("");
    }
}
