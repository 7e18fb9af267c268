package connect.dagster;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnaryExpression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BinaryType$;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.BooleanType$;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

/**
 * Typed columns as JSON text in bytes, by the generator that Java Connect writes them with. Compiled at run time by
 * Janino, which has no generic types.
 */
public final class ConnectJson {
    /** Fails to compile where Spark has other parts. */
    public ConnectJson() {}

    /**
     * Returns the expression of the text of a column's values.
     *
     * @param shape how the column's parts are written, as JSON (encoding.py).
     * @param start stands before each text.
     * @param end stands after it.
     */
    public Expression written(Expression column, String shape, String start, String end) {
        return new JsonText(column, shape, start, end);
    }

    /** Returns the expression that is true where a value cannot be written, as a required part is null. */
    public Expression breaks(Expression column, String shape) {
        return new JsonBreaks(column, shape);
    }
}

final class JsonText extends JsonExpression {
    private static final long serialVersionUID = 1L;

    private final String start;
    private final String end;

    JsonText(Expression child, String shape, String start, String end) {
        super(child, shape);
        this.start = start;
        this.end = end;
    }

    public TreeNode withNewChildInternal(TreeNode changed) {
        return new JsonText((Expression) changed, shape, start, end);
    }

    public DataType dataType() {
        return BinaryType$.MODULE$;
    }

    Function function() {
        return new JsonWriter(part(), start, end);
    }
}

final class JsonBreaks extends JsonExpression {
    private static final long serialVersionUID = 1L;

    JsonBreaks(Expression child, String shape) {
        super(child, shape);
    }

    public TreeNode withNewChildInternal(TreeNode changed) {
        return new JsonBreaks((Expression) changed, shape);
    }

    public DataType dataType() {
        return BooleanType$.MODULE$;
    }

    Function function() {
        return new JsonCheck(part());
    }
}

/**
 * A function of a column of which it has to know the type: Spark evaluates a call of it. What Spark generates for a plan
 * has neither the column's fields nor the schema, so that it is compiled once for all tables.
 */
abstract class JsonExpression extends UnaryExpression implements Serializable {
    private static final long serialVersionUID = 1L;

    private final Expression child;
    final String shape;
    private transient Expression call;

    JsonExpression(Expression child, String shape) {
        this.child = child;
        this.shape = shape;
    }

    /** Returns the function of a row with the column alone. */
    abstract Function function();

    final JsonPart part() {
        return JsonPart.of(child.dataType(), shape);
    }

    public TreeNode child() {
        return child;
    }

    public boolean nullable() {
        return false;
    }

    public Object eval(InternalRow row) {
        return call().eval(row);
    }

    public ExprCode doGenCode(CodegenContext context, ExprCode code) {
        return call().doGenCode(context, code);
    }

    public boolean canEqual(Object other) {
        return other != null && other.getClass() == getClass();
    }

    public int productArity() {
        return 2;
    }

    public Object productElement(int place) {
        return place == 0 ? child : (Object) shape;
    }

    private Expression call() {
        if (call == null) {
            Seq nothing = (Seq) Nil$.MODULE$;
            Object row = new CreateNamedStruct(listed(Literal$.MODULE$.apply("value"), listed(child, nothing)));
            Expression constant = Literal$.MODULE$.fromObject(function(), new ObjectType(Function.class));
            call = new Invoke(constant, "apply", dataType(), listed(row, nothing), nothing, false, false, true);
        }
        return call;
    }

    private static Seq listed(Object first, Object others) {
        return new $colon$colon(first, (scala.collection.immutable.List) others);
    }
}

/** Whether the only column of a row has null where it may not. */
final class JsonCheck implements Function, Serializable {
    private static final long serialVersionUID = 1L;

    private final JsonPart part;

    JsonCheck(JsonPart part) {
        this.part = part;
    }

    public Object apply(Object row) {
        return Boolean.valueOf(part.breaks((InternalRow) row, 0));
    }
}

/** Writes the only column of rows. */
final class JsonWriter implements Function, Serializable {
    private static final long serialVersionUID = 1L;
    private static final JsonFactory JACKSON = new JsonFactory();

    private final JsonPart part;
    private final byte[] start;
    private final byte[] end;
    private transient ByteArrayOutputStream bytes;
    private transient JsonGenerator generator;

    JsonWriter(JsonPart part, String start, String end) {
        this.part = part;
        this.start = start.getBytes(StandardCharsets.UTF_8);
        this.end = end.getBytes(StandardCharsets.UTF_8);
    }

    /** Takes a row and returns bytes; plans whose parts are kept may run in several threads. */
    public synchronized Object apply(Object row) {
        try {
            if (generator == null) {
                bytes = new ByteArrayOutputStream();
                generator = JACKSON.createGenerator(bytes, JsonEncoding.UTF8);
                generator.setRootValueSeparator(null);
            }
            bytes.reset();
            bytes.write(start);
            part.write(generator, (InternalRow) row, 0);
            generator.flush();
            bytes.write(end);
            return bytes.toByteArray();
        } catch (IOException error) {
            generator = null;
            throw new IllegalStateException(error.toString(), error);
        } catch (RuntimeException error) {
            generator = null; // it is in the middle of a text
            throw error;
        }
    }
}

/** A part of a value, and what stands in its place where it is null. */
abstract class JsonPart implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final String REQUIRED_IS_NULL =
        "Conversion error: null value for field that is required and has no default value";

    /** Null where the part must have a value. */
    private final SerializedString absent;

    JsonPart(JsonNode shape) {
        absent = shape.hasNonNull("absent") ? new SerializedString(shape.required("absent").textValue()) : null;
    }

    static JsonPart of(DataType type, String shape) {
        try {
            return of(type, new ObjectMapper().readTree(shape));
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException(error.toString(), error);
        }
    }

    static JsonPart of(DataType type, JsonNode shape) {
        if (type instanceof StructType && shape.has("fields")) {
            return new StructPart((StructType) type, shape);
        }
        if (type instanceof ArrayType && shape.has("item")) {
            return new ArrayPart((ArrayType) type, shape);
        }
        if (type instanceof MapType && shape.has("key")) {
            return new MapPart((MapType) type, shape);
        }
        return new ScalarPart(type, shape);
    }

    final void write(JsonGenerator to, SpecializedGetters values, int place) throws IOException {
        if (!values.isNullAt(place)) {
            writeValue(to, values, place);
        } else if (absent != null) {
            to.writeRawValue(absent);
        } else {
            throw new IllegalStateException(REQUIRED_IS_NULL);
        }
    }

    abstract void writeValue(JsonGenerator to, SpecializedGetters values, int place) throws IOException;

    /** Returns whether null is refused somewhere. */
    final boolean canBreak() {
        return absent == null || valueCanBreak();
    }

    final boolean breaks(SpecializedGetters values, int place) {
        if (values.isNullAt(place)) {
            return absent == null;
        }
        return valueCanBreak() && valueBreaks(values, place);
    }

    boolean valueCanBreak() {
        return false;
    }

    boolean valueBreaks(SpecializedGetters values, int place) {
        return false;
    }
}

final class StructPart extends JsonPart {
    private static final long serialVersionUID = 1L;

    private final int size;
    private final String[] names;
    /** The names as they are written; null for those that have characters beyond 16 bits, which are escaped. */
    private final SerializedString[] quoted;
    private final JsonPart[] parts;
    private final int[] places;
    /** Those of the parts in which null is refused. */
    private final int[] required;

    StructPart(StructType type, JsonNode shape) {
        super(shape);
        JsonNode fields = shape.required("fields");
        size = type.length();
        names = new String[fields.size()];
        quoted = new SerializedString[names.length];
        parts = new JsonPart[names.length];
        places = new int[names.length];
        for (int i = 0; i < names.length; i++) {
            names[i] = fields.required(i).required("name").textValue();
            quoted[i] = isWide(names[i]) ? null : new SerializedString(names[i]);
            places[i] = type.fieldIndex(names[i]);
            parts[i] = JsonPart.of(type.fields()[places[i]].dataType(), fields.required(i));
        }
        required = breaking(parts);
    }

    private static int[] breaking(JsonPart[] parts) {
        int[] found = new int[parts.length];
        int count = 0;
        for (int i = 0; i < parts.length; i++) {
            if (parts[i].canBreak()) {
                found[count++] = i;
            }
        }
        return Arrays.copyOf(found, count);
    }

    private static boolean isWide(String text) {
        return text.codePointCount(0, text.length()) < text.length();
    }

    void writeValue(JsonGenerator to, SpecializedGetters values, int place) throws IOException {
        InternalRow row = values.getStruct(place, size);
        to.writeStartObject();
        for (int i = 0; i < parts.length; i++) {
            if (quoted[i] == null) {
                to.writeFieldName(names[i]);
            } else {
                to.writeFieldName(quoted[i]);
            }
            parts[i].write(to, row, places[i]);
        }
        to.writeEndObject();
    }

    boolean valueCanBreak() {
        return required.length > 0;
    }

    boolean valueBreaks(SpecializedGetters values, int place) {
        InternalRow row = values.getStruct(place, size);
        for (int i = 0; i < required.length; i++) {
            if (parts[required[i]].breaks(row, places[required[i]])) {
                return true;
            }
        }
        return false;
    }
}

final class ArrayPart extends JsonPart {
    private static final long serialVersionUID = 1L;

    private final JsonPart item;

    ArrayPart(ArrayType type, JsonNode shape) {
        super(shape);
        item = JsonPart.of(type.elementType(), shape.required("item"));
    }

    void writeValue(JsonGenerator to, SpecializedGetters values, int place) throws IOException {
        ArrayData items = values.getArray(place);
        to.writeStartArray();
        for (int i = 0; i < items.numElements(); i++) {
            item.write(to, items, i);
        }
        to.writeEndArray();
    }

    boolean valueCanBreak() {
        return item.canBreak();
    }

    boolean valueBreaks(SpecializedGetters values, int place) {
        return anyBreaks(item, values.getArray(place));
    }

    static boolean anyBreaks(JsonPart part, ArrayData items) {
        boolean found = false;
        for (int i = 0; !found && i < items.numElements(); i++) {
            found = part.breaks(items, i);
        }
        return found;
    }
}

/** An object where keys are strings, else an array of pairs. */
final class MapPart extends JsonPart {
    private static final long serialVersionUID = 1L;

    private final boolean isObject;
    private final JsonPart key;
    private final JsonPart item;

    MapPart(MapType type, JsonNode shape) {
        super(shape);
        isObject = type.keyType() instanceof StringType;
        key = JsonPart.of(type.keyType(), shape.required("key"));
        item = JsonPart.of(type.valueType(), shape.required("item"));
    }

    void writeValue(JsonGenerator to, SpecializedGetters values, int place) throws IOException {
        MapData entries = values.getMap(place);
        if (isObject) {
            writeObject(to, entries.keyArray(), entries.valueArray());
        } else {
            writePairs(to, entries.keyArray(), entries.valueArray());
        }
    }

    private void writeObject(JsonGenerator to, ArrayData keys, ArrayData items) throws IOException {
        to.writeStartObject();
        for (int i = 0; i < keys.numElements(); i++) {
            to.writeFieldName(keys.getUTF8String(i).toString());
            item.write(to, items, i);
        }
        to.writeEndObject();
    }

    private void writePairs(JsonGenerator to, ArrayData keys, ArrayData items) throws IOException {
        to.writeStartArray();
        for (int i = 0; i < keys.numElements(); i++) {
            to.writeStartArray();
            key.write(to, keys, i);
            item.write(to, items, i);
            to.writeEndArray();
        }
        to.writeEndArray();
    }

    boolean valueCanBreak() {
        return key.canBreak() || item.canBreak();
    }

    boolean valueBreaks(SpecializedGetters values, int place) {
        MapData entries = values.getMap(place);
        return ArrayPart.anyBreaks(key, entries.keyArray()) || ArrayPart.anyBreaks(item, entries.valueArray());
    }
}

final class ScalarPart extends JsonPart {
    private static final long serialVersionUID = 1L;
    private static final int BOOLEAN = 1;
    private static final int BYTE = 2;
    private static final int SHORT = 3;
    private static final int INTEGER = 4;
    private static final int DATE = 5;
    private static final int LONG = 6;
    private static final int TIMESTAMP = 7;
    private static final int FLOAT = 8;
    private static final int DOUBLE = 9;
    private static final int STRING = 10;
    private static final int BINARY = 11;
    /** By the numbers above; the first is always null, the last is a decimal. */
    private static final Class[] KINDS = new Class[] {
        NullType.class, BooleanType.class, ByteType.class, ShortType.class, IntegerType.class, DateType.class,
        LongType.class, TimestampType.class, FloatType.class, DoubleType.class, StringType.class, BinaryType.class,
        DecimalType.class
    };

    private final int kind;
    /** Digits of a decimal: of Spark's own, and after the point as the schema has them; else 0. */
    private final int precision;
    private final int columnScale;
    private final int scale;
    /** Whether it is a decimal that is written as a number, where others are written as their bytes. */
    private final boolean isNumeric;

    ScalarPart(DataType type, JsonNode shape) {
        super(shape);
        kind = kindOf(type);
        precision = type instanceof DecimalType ? ((DecimalType) type).precision() : 0;
        columnScale = type instanceof DecimalType ? ((DecimalType) type).scale() : 0;
        scale = shape.has("scale") ? shape.required("scale").intValue() : 0;
        isNumeric = shape.has("numeric") && shape.required("numeric").booleanValue();
    }

    private static int kindOf(DataType type) {
        for (int i = 0; i < KINDS.length; i++) {
            if (KINDS[i].isInstance(type)) {
                return i;
            }
        }
        throw new IllegalArgumentException("A column of type " + type.sql() + " does not fit its schema");
    }

    void writeValue(JsonGenerator to, SpecializedGetters values, int place) throws IOException {
        switch (kind) {
            case BOOLEAN:
                to.writeBoolean(values.getBoolean(place));
                break;
            case BYTE:
                to.writeNumber((int) values.getByte(place));
                break;
            case SHORT:
                to.writeNumber((int) values.getShort(place));
                break;
            case INTEGER:
            case DATE: // days since 1970
                to.writeNumber(values.getInt(place));
                break;
            case LONG:
                to.writeNumber(values.getLong(place));
                break;
            case TIMESTAMP: // microseconds since 1970
                to.writeNumber(Math.floorDiv(values.getLong(place), 1000L));
                break;
            case FLOAT:
                to.writeNumber(values.getFloat(place));
                break;
            case DOUBLE:
                to.writeNumber(values.getDouble(place));
                break;
            case STRING:
                writeText(to, values.getUTF8String(place));
                break;
            case BINARY:
                writeBytes(to, values.getBinary(place));
                break;
            default:
                writeDecimal(to, values.getDecimal(place, precision, columnScale).toJavaBigDecimal());
        }
    }

    private void writeText(JsonGenerator to, UTF8String text) throws IOException {
        if (text.isFullAscii()) {
            byte[] bytes = text.getBytes();
            to.writeUTF8String(bytes, 0, bytes.length);
        } else {
            to.writeString(text.toString());
        }
    }

    private void writeBytes(JsonGenerator to, byte[] bytes) throws IOException {
        if (!isNumeric) {
            to.writeBinary(bytes);
        } else if (bytes.length == 0) { // which no number has
            to.writeNull();
        } else {
            to.writeNumber(new BigDecimal(new BigInteger(bytes), scale));
        }
    }

    private void writeDecimal(JsonGenerator to, BigDecimal number) throws IOException {
        if (isNumeric) {
            to.writeNumber(number);
        } else {
            to.writeBinary(number.setScale(scale).unscaledValue().toByteArray());
        }
    }
}
