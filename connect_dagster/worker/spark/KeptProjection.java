package connect.dagster;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Base64;
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

    /**
     * Takes and returns a stream of Arrow; tasks share a plan, whose parts keep the row that they are at. Returned in
     * base64, as py4j does itself with bytes, which it decodes in Python one by one.
     */
    public synchronized String run(byte[] stream) throws IOException {
        BufferAllocator allocator = ArrowUtils.rootAllocator().newChildAllocator("kept-projection", 0, Long.MAX_VALUE);
        try {
            ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(stream), allocator);
            VectorSchemaRoot made = VectorSchemaRoot.create(schema, allocator);
            try {
                evaluate(reader, ArrowWriter.create(made));
                return Base64.getEncoder().encodeToString(written(made));
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

    private static byte[] written(VectorSchemaRoot made) throws IOException {
        ByteArrayOutputStream stream = new ByteArrayOutputStream();
        ArrowStreamWriter writer = new ArrowStreamWriter(made, null, stream);
        writer.start();
        writer.writeBatch();
        writer.end();
        return stream.toByteArray();
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
