import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Calendar;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * Reads a table in the order of a growing column, row by row through JDBC: the least that a Java connector can do. It
 * understands the properties of the JDBC source that it needs for that.
 */
public class TableSource extends SourceConnector {
    private Map<String, String> props;

    @Override
    public void start(Map<String, String> props) {
        this.props = props;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return TableTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(props);
    }

    @Override
    public void stop() {
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public String version() {
        return "1";
    }

    public static class TableTask extends SourceTask {
        private final Calendar utc = Calendar.getInstance(TimeZone.getTimeZone("UTC"));
        private Connection connection;
        private PreparedStatement statement;
        private ResultSet rows;
        private Schema schema;
        private String table;
        private String column;
        private String topic;
        private int most;
        private int pause;
        private long last;

        @Override
        public void start(Map<String, String> props) {
            table = props.get("table.whitelist");
            column = props.get("incrementing.column.name");
            topic = props.get("topic.prefix") + table;
            most = Integer.parseInt(props.get("batch.max.rows"));
            pause = Integer.parseInt(props.get("poll.interval.ms"));
            try {
                connection = DriverManager.getConnection(
                    props.get("connection.url"), props.get("connection.user"), props.get("connection.password"));
                statement = connection.prepareStatement(
                    "SELECT * FROM " + table + " WHERE " + column + " > ? ORDER BY " + column);
                statement.setFetchSize(most);
            } catch (SQLException error) {
                throw new ConnectException(error);
            }
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            try {
                if (rows == null) {
                    statement.setLong(1, last);
                    rows = statement.executeQuery();
                    schema = schema == null ? schemaOf(rows.getMetaData()) : schema;
                }
                List<SourceRecord> records = new ArrayList<>(most);
                while (records.size() < most && rows.next()) records.add(record());
                if (records.size() < most) {
                    rows.close();
                    rows = null;
                }
                if (!records.isEmpty()) return records;
                Thread.sleep(pause);
                return null;
            } catch (SQLException error) {
                throw new ConnectException(error);
            }
        }

        private SourceRecord record() throws SQLException {
            Struct value = new Struct(schema);
            int place = 1;
            for (var field : schema.fields()) {
                Object found = switch (field.schema().type()) {
                    case INT32 -> rows.getInt(place);
                    case INT64 -> rows.getTimestamp(place, utc);
                    default -> rows.getString(place);
                };
                value.put(field, rows.wasNull() ? null : found);
                place++;
            }
            last = ((Number) value.get(column)).longValue();
            return new SourceRecord(Map.of("table", table), Map.of("incrementing", last), topic, schema, value);
        }

        private Schema schemaOf(ResultSetMetaData columns) throws SQLException {
            SchemaBuilder made = SchemaBuilder.struct().name(table);
            for (int place = 1; place <= columns.getColumnCount(); place++) {
                SchemaBuilder field = switch (columns.getColumnType(place)) {
                    case Types.INTEGER -> SchemaBuilder.int32();
                    case Types.TIMESTAMP -> Timestamp.builder();
                    case Types.VARCHAR -> SchemaBuilder.string();
                    default -> throw new ConnectException("No schema for " + columns.getColumnTypeName(place));
                };
                boolean nullable = columns.isNullable(place) != ResultSetMetaData.columnNoNulls;
                made.field(columns.getColumnLabel(place), nullable ? field.optional().build() : field.build());
            }
            return made.build();
        }

        @Override
        public void stop() {
            try {
                if (connection != null) connection.close();
            } catch (SQLException error) {
                throw new ConnectException(error);
            }
        }

        @Override
        public String version() {
            return "1";
        }
    }
}
