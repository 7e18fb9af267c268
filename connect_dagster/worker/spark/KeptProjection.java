package connect.dagster;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InterpretedMutableProjection;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.Predicate$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.immutable.Seq;

/**
 * The projections and filters of an optimized plan over rows of Arrow, evaluated as Spark's rule ConvertToLocalRelation
 * does. Python would need a call for each of its parts. Compiled at run time by Janino, which has no generic types.
 */
public final class KeptProjection {
    private static final OpenOption[] TO_READ = new OpenOption[] {StandardOpenOption.READ};
    private static final OpenOption[] TO_WRITE =
        new OpenOption[] {StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE};

    /** Expressions cannot copy all nested values as Arrow has them, such as arrays with nulls. */
    private final UnsafeProjection given;
    private final Operator[] operators;
    private final Schema schema;

    /** Fails where the plan has other operators. */
    public KeptProjection(LogicalPlan plan, StructType made, String timeZone) {
        List found = new ArrayList();
        for (; !(plan instanceof LogicalRDD); plan = child(plan)) {
            found.add(0, operator(plan));
        }
        given = UnsafeProjection$.MODULE$.create(plan.schema());
        operators = (Operator[]) found.toArray(new Operator[0]);
        schema = ArrowUtils.toArrowSchema(made, timeZone, true, false);
    }

    /** Reads a stream of Arrow from a file, writes another; tasks share a plan, which keeps the row that it is at. */
    public synchronized void run(String from, String to) throws IOException {
        BufferAllocator allocator = ArrowUtils.rootAllocator().newChildAllocator("kept-projection", 0, Long.MAX_VALUE);
        try {
            FileChannel given = FileChannel.open(Paths.get(from, new String[0]), TO_READ);
            ArrowStreamReader reader = new ArrowStreamReader(given, allocator);
            VectorSchemaRoot made = VectorSchemaRoot.create(schema, allocator);
            try {
                evaluate(reader, ArrowWriter.create(made));
                write(made, to);
            } finally {
                made.close();
                reader.close();
            }
        } finally {
            allocator.close();
        }
    }

    private void evaluate(ArrowStreamReader reader, ArrowWriter writer) throws IOException {
        while (reader.loadNextBatch()) {
            for (Iterator rows = rowsOf(reader.getVectorSchemaRoot()); rows.hasNext();) {
                InternalRow row = evaluated((InternalRow) given.apply(rows.next()));
                if (row != null) {
                    writer.write(row);
                }
            }
        }
        writer.finish();
    }

    /** Returns null for a row that a filter leaves out. */
    private InternalRow evaluated(InternalRow row) {
        for (int i = 0; row != null && i < operators.length; i++) {
            row = operators[i].evaluated(row);
        }
        return row;
    }

    private static Iterator rowsOf(VectorSchemaRoot root) {
        List vectors = root.getFieldVectors();
        ColumnVector[] columns = new ColumnVector[vectors.size()];
        for (int i = 0; i < columns.length; i++) {
            columns[i] = new ArrowColumnVector((FieldVector) vectors.get(i));
        }
        return new ColumnarBatch(columns, root.getRowCount()).rowIterator();
    }

    private static void write(VectorSchemaRoot made, String to) throws IOException {
        FileChannel file = FileChannel.open(Paths.get(to, new String[0]), TO_WRITE);
        try {
            ArrowStreamWriter stream = new ArrowStreamWriter(made, null, file);
            stream.start();
            stream.writeBatch();
            stream.end();
        } finally {
            file.close();
        }
    }

    private static Operator operator(LogicalPlan plan) {
        if (plan instanceof Project) {
            return new Projection(((Project) plan).projectList(), child(plan).output());
        }
        if (plan instanceof Filter) {
            return new Selection(((Filter) plan).condition(), child(plan).output());
        }
        throw new IllegalArgumentException("the plan has an operator " + plan.nodeName());
    }

    private static LogicalPlan child(LogicalPlan plan) {
        return (LogicalPlan) plan.children().head();
    }
}

interface Operator {
    InternalRow evaluated(InternalRow row);
}

final class Projection implements Operator {
    private final MutableProjection projection;

    Projection(Seq expressions, Seq columns) {
        projection = new InterpretedMutableProjection(expressions, columns);
        projection.initialize(0);
    }

    public InternalRow evaluated(InternalRow row) {
        return (InternalRow) projection.apply(row);
    }
}

final class Selection implements Operator {
    private final BasePredicate predicate;

    Selection(Expression condition, Seq columns) {
        predicate = Predicate$.MODULE$.create(condition, columns);
        predicate.initialize(0);
    }

    public InternalRow evaluated(InternalRow row) {
        return predicate.eval(row) ? row : null;
    }
}
