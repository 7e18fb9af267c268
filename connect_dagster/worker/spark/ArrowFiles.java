package connect.dagster;

import java.io.IOException;
import java.io.Serializable;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.Properties;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import scala.Function0;
import scala.Function2;
import scala.Option;
import scala.collection.Iterator;
import scala.runtime.BoxedUnit;
import scala.runtime.RichInt$;

/**
 * Runs a query whose Spark tasks write their rows to files, each a stream of Arrow. Spark's own way to Python has them
 * in arrays of the heap, sends those from task to driver, and from there through a socket. Compiled at run time by
 * Janino, which has no generic types.
 */
public final class ArrowFiles {
    /** Fails to compile where Spark has other parts. */
    public ArrowFiles() {}

    /** Returns the number of Spark tasks; the files are named after their numbers. */
    public int write(Dataset rows, String folder) {
        QueryExecution query = rows.queryExecution();
        SQLConf conf = rows.sparkSession().sessionState().conf();
        TaskWriter writer =
            new TaskWriter(folder, rows.schema(), conf.sessionLocalTimeZone(), conf.arrowMaxRecordsPerBatch());
        Function0 job = new Job(rows.sparkSession().sparkContext(), query.executedPlan(), writer);
        return ((Integer) SQLExecution$.MODULE$.withNewExecutionId(query, Option.apply("toArrow"), job)).intValue();
    }
}

final class Job implements Function0 {
    private final SparkContext context;
    private final SparkPlan plan;
    private final TaskWriter writer;

    Job(SparkContext context, SparkPlan plan, TaskWriter writer) {
        this.context = context;
        this.plan = plan;
        this.writer = writer;
    }

    /** SparkContext.runJob would read the writer's byte code first, to clean a closure that it is not. */
    public Object apply() {
        plan.resetMetrics();
        RDD rows = plan.execute();
        int tasks = rows.getNumPartitions();
        context.dagScheduler().runJob(
            rows,
            writer,
            RichInt$.MODULE$.until$extension(0, tasks),
            context.getCallSite(),
            new NoResult(),
            (Properties) context.localProperties().get());
        return Integer.valueOf(tasks);
    }
}

final class NoResult implements Function2 {
    public Object apply(Object task, Object nothing) {
        return BoxedUnit.UNIT;
    }
}

final class TaskWriter implements Function2, Serializable {
    private static final long serialVersionUID = 1L;
    /** A Spark task that is tried once more has left a file. */
    private static final OpenOption[] AS_NEW = new OpenOption[] {
        StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE
    };

    private final String folder;
    private final StructType schema;
    private final String timeZone;
    private final int rowsEach;

    TaskWriter(String folder, StructType schema, String timeZone, int rowsEach) {
        this.folder = folder;
        this.schema = schema;
        this.timeZone = timeZone;
        this.rowsEach = rowsEach;
    }

    public Object apply(Object task, Object rows) {
        BufferAllocator allocator = ArrowUtils.rootAllocator().newChildAllocator("arrow-files", 0, Long.MAX_VALUE);
        try {
            VectorSchemaRoot root =
                VectorSchemaRoot.create(ArrowUtils.toArrowSchema(schema, timeZone, true, false), allocator);
            try {
                write(root, (Iterator) rows, ((TaskContext) task).partitionId());
            } finally {
                root.close();
            }
        } catch (IOException error) {
            throw new IllegalStateException(error.toString(), error);
        } finally {
            allocator.close();
        }
        return null;
    }

    private void write(VectorSchemaRoot root, Iterator rows, int number) throws IOException {
        FileChannel file = FileChannel.open(Paths.get(folder, new String[] {String.valueOf(number)}), AS_NEW);
        try {
            ArrowWriter writer = ArrowWriter.create(root);
            ArrowStreamWriter stream = new ArrowStreamWriter(root, null, file);
            stream.start();
            while (rows.hasNext()) {
                for (int count = 0; count < rowsEach && rows.hasNext(); count++) {
                    writer.write((InternalRow) rows.next());
                }
                writer.finish();
                stream.writeBatch();
                writer.reset();
            }
            stream.end();
        } finally {
            file.close();
        }
    }
}
