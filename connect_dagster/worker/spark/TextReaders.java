package connect.dagster;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Readers of small files, a row for each line, which Spark's own source of text copies four times. Compiled at run time
 * by Janino, which has no generic types.
 */
public final class TextReaders implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;
    private final boolean returns;

    /** @param returns whether a carriage return ends a line too, alone or before a newline. */
    public TextReaders(boolean returns) {
        this.returns = returns;
    }

    /** Returns a file as a part of a DataFrame. */
    public InputPartition part(String path) {
        return new TextFile(path);
    }

    public PartitionReader createReader(InputPartition part) throws IOException {
        return new TextReader(((TextFile) part).path, returns);
    }
}

final class TextFile implements InputPartition {
    private static final long serialVersionUID = 1L;
    final String path;

    TextFile(String path) {
        this.path = path;
    }
}

final class TextReader implements PartitionReader {
    private static final long NEWLINES = 0x0A0A0A0A0A0A0A0AL;
    private static final long ONES = 0x0101010101010101L;
    private static final long HIGHEST_BITS = 0x8080808080808080L;

    private final InputStream file;
    private final boolean returns;
    private final Line line = new Line();
    private byte[] buffer = new byte[1 << 17];
    private int start;
    private int filled;
    private boolean afterReturn;

    TextReader(String path, boolean returns) throws IOException {
        this.file = new FileInputStream(path);
        this.returns = returns;
    }

    public boolean next() throws IOException {
        if (afterReturn && (start < filled || fill()) && buffer[start] == '\n') {
            start++;
        }
        int end = lineEnd(start);
        while (end == filled) {
            int known = filled - start;
            if (!fill()) {
                return known > 0 && found(filled);
            }
            end = lineEnd(start + known);
        }
        return found(end);
    }

    public Object get() {
        return line;
    }

    public void close() throws IOException {
        file.close();
    }

    private boolean found(int end) {
        line.text = UTF8String.fromBytes(buffer, start, end - start);
        afterReturn = returns && end < filled && buffer[end] == '\r';
        start = Math.min(end + 1, filled);
        return true;
    }

    /** Returns the place of the first line end, eight bytes at once; {@code filled} without one. */
    private int lineEnd(int from) {
        int place = from;
        while (!returns && place + 8 <= filled) {
            long bytes = Platform.getLong(buffer, Platform.BYTE_ARRAY_OFFSET + place) ^ NEWLINES;
            if (((bytes - ONES) & ~bytes & HIGHEST_BITS) != 0) { // a byte of them is zero
                break;
            }
            place += 8;
        }
        while (place < filled && buffer[place] != '\n' && !(returns && buffer[place] == '\r')) {
            place++;
        }
        return place;
    }

    /** Moves what is left to the beginning and reads on; returns whether there was more. */
    private boolean fill() throws IOException {
        int left = filled - start;
        if (left == buffer.length) {
            buffer = Arrays.copyOf(buffer, left * 2);
        } else {
            System.arraycopy(buffer, start, buffer, 0, left);
        }
        int more = file.read(buffer, left, buffer.length - left);
        start = 0;
        filled = left + Math.max(more, 0);
        return more > 0;
    }
}

/** A row whose text is in the buffer of its reader until the next one. */
final class Line extends GenericInternalRow {
    UTF8String text;

    Line() {
        super(new Object[1]);
    }

    public Object genericGet(int column) {
        return text;
    }

    public boolean isNullAt(int column) {
        return false;
    }
}
