package connect.dagster;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Readers of files, each a stream of Arrow. Compiled at run time by Janino, which has no generic types. */
public final class TableReaders implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    /** Fails to compile where Spark has other parts. */
    public TableReaders() {}

    /** Returns a file as a part of a DataFrame. */
    public InputPartition part(String path) {
        return new TableFile(path);
    }

    public PartitionReader createReader(InputPartition part) throws IOException {
        return new TableReader(((TableFile) part).path);
    }
}

final class TableFile implements InputPartition {
    private static final long serialVersionUID = 1L;
    final String path;

    TableFile(String path) {
        this.path = path;
    }
}

final class TableReader implements PartitionReader {
    private static final OpenOption[] TO_READ = new OpenOption[] {StandardOpenOption.READ};

    private final BufferAllocator allocator;
    private final ArrowStreamReader stream;
    private Iterator rows;
    private Object row;

    TableReader(String path) throws IOException {
        FileChannel file = FileChannel.open(Paths.get(path, new String[0]), TO_READ);
        allocator = ArrowUtils.rootAllocator().newChildAllocator("table-reader", 0, Long.MAX_VALUE);
        stream = new ArrowStreamReader(file, allocator);
    }

    public boolean next() throws IOException {
        while (rows == null || !rows.hasNext()) {
            if (!stream.loadNextBatch()) {
                return false;
            }
            rows = loaded(stream.getVectorSchemaRoot());
        }
        row = rows.next();
        return true;
    }

    public Object get() {
        return row;
    }

    /** Closes the file as well. */
    public void close() throws IOException {
        try {
            stream.close();
        } finally {
            allocator.close();
        }
    }

    private static Iterator loaded(VectorSchemaRoot root) {
        List vectors = root.getFieldVectors();
        ColumnVector[] columns = new ColumnVector[vectors.size()];
        for (int place = 0; place < columns.length; place++) {
            columns[place] = new ArrowColumnVector((ValueVector) vectors.get(place));
        }
        return new ColumnarBatch(columns, root.getRowCount()).rowIterator();
    }
}
