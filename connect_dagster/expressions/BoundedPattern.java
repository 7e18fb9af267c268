package connect.dagster;

import java.io.Serializable;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A regular expression whose matches end: after a number of characters that Java's engine reads, and after a time, as it
 * reads none at the end of a text. Compiled at run time by Janino, which has no generic types.
 */
public final class BoundedPattern implements Function, Serializable {
    private static final long serialVersionUID = 1L;
    private static final int MOST_KEPT = 1000;
    private static final int LONGEST_KEPT = 10000;
    /** Expressions whose match did not end in time, with that match: a thread cannot be ended from outside. */
    private static final Map RUNNING = new ConcurrentHashMap();
    /** Expressions and texts that took too many steps: where records are bisected, they come again and again. */
    private static final Map REFUSED = new ConcurrentHashMap();

    private final String place;
    private final Pattern pattern;
    private final String replacement;
    private final long steps;
    private final long millis;
    private transient volatile Map known;

    /**
     * @param place the beginning of an error's text.
     * @param replacement of a match; null for the text as it is.
     * @param steps the most characters that a match may read.
     * @param millis the most time for one call.
     */
    public BoundedPattern(String place, Pattern pattern, String replacement, long steps, long millis) {
        this.place = place;
        this.pattern = pattern;
        this.replacement = replacement;
        this.steps = steps;
        this.millis = millis;
    }

    /** Returns a text with its first match replaced, null where the expression does not match all of the text. */
    public Object apply(Object text) {
        if (known == null) {
            known = new ConcurrentHashMap();
        }
        Optional found = (Optional) known.get(text);
        if (found == null) {
            found = Optional.ofNullable(bounded(new String[] {(String) text})[0]);
            keep(known, (String) text, found);
        }
        return found.orElse(null);
    }

    /** Returns a digit for each of the texts between zero characters: 1 where the expression matches all of it. */
    public String matching(String texts) {
        StringBuilder digits = new StringBuilder();
        String[] found = bounded(texts.split("\0", -1));
        for (int i = 0; i < found.length; i++) {
            digits.append(found[i] == null ? '0' : '1');
        }
        return digits.toString();
    }

    public String toString() {
        return pattern.pattern();
    }

    private String[] bounded(final String[] texts) {
        String expression = pattern.pattern();
        FutureTask before = (FutureTask) RUNNING.get(expression);
        if (before != null && !before.isDone()) {
            throw new IllegalStateException(place + "a match of it has not ended yet");
        }
        RUNNING.remove(expression);
        FutureTask task = new FutureTask(new Callable() {
            public Object call() {
                return allFound(texts);
            }
        });
        Thread thread = new Thread(task, "bounded-pattern");
        thread.setDaemon(true);
        thread.start();
        try {
            return (String[]) task.get(millis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException error) {
            RUNNING.put(expression, task);
            String what = texts.length == 1 ? shown(texts[0]) : texts.length + " names";
            throw new IllegalStateException(place + "matching " + what + " takes longer than " + millis / 1e3 + " s");
        } catch (ExecutionException error) {
            if (error.getCause() instanceof RuntimeException) {
                throw (RuntimeException) error.getCause();
            }
            throw (Error) error.getCause();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new RuntimeException(error);
        }
    }

    String[] allFound(String[] texts) {
        String[] found = new String[texts.length];
        for (int i = 0; i < texts.length; i++) {
            found[i] = found(texts[i]);
        }
        return found;
    }

    private String found(String text) {
        String both = pattern.pattern() + '\0' + text;
        if (REFUSED.containsKey(both)) {
            throw refusal(text);
        }
        try {
            Matcher matcher = pattern.matcher(new CountedText(text, steps));
            if (!matcher.matches()) {
                return null;
            }
            return replacement == null ? text : matcher.replaceFirst(replacement);
        } catch (StackOverflowError error) {
            throw new IllegalStateException(place + "matching " + shown(text) + " overflows the stack");
        } catch (TooManySteps error) {
            keep(REFUSED, both, Boolean.TRUE);
            throw refusal(text);
        }
    }

    private IllegalStateException refusal(String text) {
        String most = String.format(Locale.ROOT, "%,d", new Object[] {Long.valueOf(steps)});
        return new IllegalStateException(place + "matching " + shown(text) + " takes more than " + most + " steps");
    }

    private static String shown(String text) {
        return "'" + (text.length() <= 100 ? text : text.substring(0, 100) + "\u2026") + "'";
    }

    private static void keep(Map map, String key, Object value) {
        if (map.size() >= MOST_KEPT) {
            map.clear();
        }
        if (key.length() <= LONGEST_KEPT) {
            map.put(key, value);
        }
    }
}

final class TooManySteps extends RuntimeException {
    TooManySteps() {
        super(null, null, false, false);
    }
}

/** A text that counts its characters as they are read. */
final class CountedText implements CharSequence {
    private final String text;
    private long left;

    CountedText(String text, long steps) {
        this.text = text;
        this.left = steps;
    }

    public char charAt(int index) {
        if (--left < 0) {
            throw new TooManySteps();
        }
        return text.charAt(index);
    }

    public int length() {
        return text.length();
    }

    public CharSequence subSequence(int start, int end) {
        return text.subSequence(start, end);
    }

    public String toString() {
        return text;
    }
}
