package connect.dagster;

import java.lang.reflect.Field;
import java.sql.Timestamp;
import java.time.Duration;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.header.Header;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.kafka010.KafkaBatchInputPartition;
import org.apache.spark.sql.kafka010.consumer.InternalKafkaConsumer;
import org.apache.spark.sql.kafka010.consumer.KafkaDataConsumer;
import org.apache.spark.unsafe.types.UTF8String;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Readers of ranges of offsets, by the consumers that Spark's Kafka source keeps open. Spark's own reader asks the broker
 * for the first and last offset after each poll, and writes all columns of a record into bytes, of which a plan reads one
 * or two. Compiled at run time by Janino, which has no generic types.
 */
public final class KafkaRangeReaders implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    /** Fails where Spark's consumers have other parts. */
    public KafkaRangeReaders() {
        KafkaRangeReader.kafkaField();
    }

    public PartitionReader createReader(InputPartition partition) {
        return new KafkaRangeReader((KafkaBatchInputPartition) partition);
    }
}

final class KafkaRangeReader implements PartitionReader {
    /** The records that consumers have fetched beyond their ranges, with which the next ranges begin. */
    private static final Map AHEAD = new WeakHashMap();
    /** The consumers that have a position, which would ask for their group's without one. */
    private static final Set POSITIONED = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap()));
    private static final Field KAFKA = kafkaField();
    private static final Logger LOG = LoggerFactory.getLogger("connect.dagster.KafkaRangeReader");

    private final KafkaDataConsumer consumer;
    private InternalKafkaConsumer internal;
    private KafkaConsumer kafka;
    private final TopicPartition partition;
    private final long end;
    private final long pollTimeout;
    private final boolean failOnDataLoss;
    private final RecordRow row;
    private Fetched fetched;

    KafkaRangeReader(KafkaBatchInputPartition range) {
        partition = range.offsetRange().topicPartition();
        end = range.offsetRange().untilOffset();
        // Where the first half brings nothing, Spark's own read has the second one.
        pollTimeout = range.pollTimeoutMs() / 2;
        failOnDataLoss = range.failOnDataLoss();
        row = new RecordRow(range.includeHeaders());
        consumer = KafkaDataConsumer.acquire(partition, range.executorKafkaParams());
        borrow();
        takeFetched(range.offsetRange().fromOffset());
    }

    public boolean next() {
        while (fetched.position < end) {
            if (fetched.index < fetched.records.size()) {
                ConsumerRecord record = (ConsumerRecord) fetched.records.get(fetched.index);
                if (record.offset() >= end) {
                    fetched.position = end;
                    return false;
                }
                fetched.index++;
                return found(record);
            }
            if (fetched.end > fetched.position) { // the ends of transactions, and what compaction has removed
                fetched.position = Math.min(fetched.end, end);
            } else if (!fetch()) {
                return readBySpark();
            }
        }
        return false;
    }

    public Object get() {
        return row;
    }

    public void close() {
        if (fetched.index == fetched.records.size()) {
            fetched.records = Collections.EMPTY_LIST;
            fetched.index = 0;
        }
        if (fetched.end > fetched.position) {
            synchronized (AHEAD) {
                AHEAD.put(internal, fetched);
            }
        }
        consumer.release();
    }

    /** Spark's own read may have given its consumer back, and have another one. */
    private void borrow() {
        internal = consumer.getOrRetrieveConsumer();
        kafka = kafkaOf(internal);
    }

    private boolean found(ConsumerRecord record) {
        row.record = record;
        fetched.position = record.offset() + 1;
        return true;
    }

    /** Returns whether there was something; whatever there is at its offset belongs to a log without a gap. */
    private boolean fetch() {
        long position = fetched.position;
        fetched = new Fetched(position);
        Duration longest = Duration.ofMillis(pollTimeout);
        try {
            if (POSITIONED.add(internal) || kafka.position(partition, longest) != position) {
                kafka.seek(partition, position);
            }
            List records = kafka.poll(longest).records(partition);
            fetched.end = kafka.position(partition, longest);
            fetched.records = records;
        } catch (OffsetOutOfRangeException error) {
            return !failOnDataLoss && passesOverLostOffsets(longest);
        } catch (ApiException error) {
            throw unreadable(position, error);
        }
        return fetched.end > position;
    }

    /**
     * Passes over offsets that the log does not have, as Spark's own read does. That gives its consumer back before, to
     * another task of the partition, and still asks it for the offsets.
     */
    private boolean passesOverLostOffsets(Duration longest) {
        long position = fetched.position;
        long first;
        long last;
        try {
            first = ((Long) kafka.beginningOffsets(Collections.singleton(partition), longest).get(partition)).longValue();
            last = ((Long) kafka.endOffsets(Collections.singleton(partition), longest).get(partition)).longValue();
        } catch (ApiException error) {
            throw unreadable(position, error);
        }
        if (position >= first && position < last) {
            return false;
        }
        fetched = new Fetched(position);
        fetched.end = position < first ? Math.min(first, end) : end;
        LOG.warn("The log of {} has offsets from {} up to {}, those from {} up to {} are lost",
            new Object[] {partition, Long.valueOf(first), Long.valueOf(last), Long.valueOf(position),
                Long.valueOf(fetched.end)});
        return true;
    }

    /** Reads the next record with Spark's knowledge of offsets that are lost and brokers that are away. */
    private boolean readBySpark() {
        fetched = new Fetched(fetched.position);
        ConsumerRecord record;
        try {
            record = consumer.get(fetched.position, end, pollTimeout, failOnDataLoss);
        } catch (ApiException error) {
            throw unreadable(fetched.position, error);
        }
        borrow();
        if (record == null) {
            fetched.position = end;
            return false;
        }
        return found(record);
    }

    /** An ApiException has no stack, by which a job is known to have failed while it read. */
    private KafkaException unreadable(long offset, ApiException error) {
        return new KafkaException("Cannot read " + partition + " from offset " + offset + ": " + error, error);
    }

    private void takeFetched(long start) {
        synchronized (AHEAD) {
            Fetched own = (Fetched) AHEAD.remove(internal);
            fetched = own != null && own.position == start ? own : takeFromOthers(start);
        }
    }

    /** A partition that two tasks share has two consumers, of which either gets the range that follows. */
    private Fetched takeFromOthers(long start) {
        for (Iterator all = AHEAD.entrySet().iterator(); all.hasNext();) {
            Map.Entry entry = (Map.Entry) all.next();
            InternalKafkaConsumer other = (InternalKafkaConsumer) entry.getKey();
            Fetched found = (Fetched) entry.getValue();
            if (other != null && found.position == start && other.topicPartition().equals(partition)
                    && other.groupId().equals(internal.groupId())) {
                all.remove();
                return found;
            }
        }
        return new Fetched(start);
    }

    static Field kafkaField() {
        try {
            Field field = InternalKafkaConsumer.class.getDeclaredField("consumer");
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException error) {
            throw new IllegalStateException(error);
        }
    }

    private static KafkaConsumer kafkaOf(InternalKafkaConsumer internal) {
        try {
            return (KafkaConsumer) KAFKA.get(internal);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }
}

/** Records of one poll, maybe of another consumer than the one that keeps them. */
final class Fetched {
    /** The offset that is read next. */
    long position;
    /** The offset behind the records. */
    long end;
    List records = Collections.EMPTY_LIST;
    int index;

    Fetched(long position) {
        this.position = position;
        this.end = position;
    }
}

/** The columns of Spark's Kafka source over a record, each made when it is read. */
final class RecordRow extends GenericInternalRow {
    private static final int HEADERS = 7;

    ConsumerRecord record;
    private final int columns;

    RecordRow(boolean headers) {
        super(new Object[0]);
        columns = headers ? HEADERS + 1 : HEADERS;
    }

    public int numFields() {
        return columns;
    }

    public Object genericGet(int column) {
        switch (column) {
            case 0:
                return record.key();
            case 1:
                return record.value();
            case 2:
                return UTF8String.fromString(record.topic());
            case 3:
                return Integer.valueOf(record.partition());
            case 4:
                return Long.valueOf(record.offset());
            case 5:
                return Long.valueOf(microseconds(record.timestamp()));
            case 6:
                return Integer.valueOf(record.timestampType().id);
            default:
                return headers();
        }
    }

    public boolean isNullAt(int column) {
        switch (column) {
            case 0:
                return record.key() == null;
            case 1:
                return record.value() == null;
            case HEADERS:
                return !record.headers().iterator().hasNext();
            default:
                return false;
        }
    }

    /**
     * Spark's own way rebases from Java's old calendar, which differs for dates of earlier centuries, and fails for
     * those that its timestamps do not have, as of a client that counts in another unit.
     */
    private static long microseconds(long timestamp) {
        return timestamp >= 0
            ? 1000L * Math.min(timestamp, Long.MAX_VALUE / 1000L)
            : DateTimeUtils.fromJavaTimestamp(new Timestamp(timestamp));
    }

    private GenericArrayData headers() {
        Header[] given = record.headers().toArray();
        if (given.length == 0) {
            return null;
        }
        Object[] rows = new Object[given.length];
        for (int i = 0; i < given.length; i++) {
            rows[i] = new GenericInternalRow(new Object[] {UTF8String.fromString(given[i].key()), given[i].value()});
        }
        return new GenericArrayData(rows);
    }
}
