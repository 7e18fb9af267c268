package org.apache.kafka.connect.util.clusters;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A worker outside of this JVM, in the place of the class of this name by which Kafka's own integration tests start
 * every worker. What it spawns is told by system properties: {@code connect.command}, a command's words, one a line,
 * which gets the worker's property file as its last argument; {@code connect.folder}, for these files and the workers'
 * logs; and {@code connect.plugins}, the workers' plugin path.
 */
public class WorkerHandle {
    private static final Pattern ANNOUNCED = Pattern.compile("REST server listening at .*advertising URL (\\S+)");
    private static final int START_SECONDS = 180;
    private static final int STOP_SECONDS = 20;
    private static final int POLL_MS = 50;

    private final String name;
    private final Process process;
    private final CompletableFuture<URI> url = new CompletableFuture<>();

    private WorkerHandle(String name, Process process) {
        this.name = name;
        this.process = process;
    }

    /** Starts a worker; returns, as the original does, when it answers requests, or began to listen and has ended. */
    public static WorkerHandle start(String name, Map<String, String> workerProperties) {
        Properties properties = new Properties();
        properties.putAll(workerProperties);
        properties.putIfAbsent("plugin.path", System.getProperty("connect.plugins"));
        try {
            Path folder = Files.createDirectories(Path.of(System.getProperty("connect.folder")));
            Path file = Files.createTempFile(folder, name + "-", ".properties");
            try (BufferedWriter writer = Files.newBufferedWriter(file)) {
                properties.store(writer, null);
            }
            List<String> command = new ArrayList<>(System.getProperty("connect.command").lines().toList());
            command.add(file.toString());
            Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
            WorkerHandle worker = new WorkerHandle(name, process);
            Path log = Path.of(file.toString().replace(".properties", ".log"));
            Thread copier = new Thread(() -> worker.copyLog(log), name + "-log");
            copier.setDaemon(true);
            copier.start();
            worker.awaitAnswers();
            return worker;
        } catch (IOException e) {
            throw new IllegalStateException("Cannot start the worker " + name, e);
        }
    }

    /** Asks the worker to stop; one that does not is killed. */
    public void stop() {
        process.destroy();
        try {
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Where the worker announced its REST API. */
    public URI url() {
        return url.getNow(null);
    }

    /** The admin endpoints share the listener of the others in the tests that run here. */
    public URI adminUrl() {
        return url();
    }

    /** The worker's life: fails when the process ends with an exit code other than 0. */
    public Future<?> herderTask() {
        return process.onExit().thenAccept(ended -> {
            if (ended.exitValue() != 0) {
                throw new IllegalStateException("The worker " + name + " ended with exit code " + ended.exitValue());
            }
        });
    }

    /** A worker's request timeout is fixed, and its health check answers after 10 s at the latest: tests only wait. */
    public void requestTimeout(long timeoutMs) {
    }

    /** See {@link #requestTimeout(long)}. */
    public void resetRequestTimeout() {
    }

    @Override
    public String toString() {
        return "worker " + name + ", process " + process.pid() + ", " + url();
    }

    private void copyLog(Path log) {
        try (BufferedReader lines = process.inputReader(); BufferedWriter writer = Files.newBufferedWriter(log)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                Matcher announced = ANNOUNCED.matcher(line);
                if (announced.find()) {
                    url.complete(URI.create(announced.group(1)));
                }
                writer.write(line);
                writer.newLine();
                writer.flush();
            }
        } catch (IOException e) {
            url.completeExceptionally(e);
        } finally {
            url.complete(null);
        }
    }

    private void awaitAnswers() {
        try {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
            URI announced = url.get(START_SECONDS, TimeUnit.SECONDS);
            if (announced == null) {
                throw new IllegalStateException("The worker " + name + " ended before it announced its URL");
            }
            while (process.isAlive() && !answers(announced)) {
                if (System.nanoTime() > deadline) {
                    throw new TimeoutException("No answer from " + announced);
                }
                Thread.sleep(POLL_MS);
            }
        } catch (TimeoutException e) {
            stop();
            throw new IllegalStateException("The worker " + name + " was not there after " + START_SECONDS + " s", e);
        } catch (ExecutionException e) {
            throw new IllegalStateException("Cannot read what the worker " + name + " logs", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static boolean answers(URI url) {
        try {
            HttpURLConnection connection = (HttpURLConnection) url.toURL().openConnection();
            connection.setConnectTimeout(1000);
            connection.setReadTimeout(1000);
            return connection.getResponseCode() == HttpURLConnection.HTTP_OK;
        } catch (IOException e) {
            return false;
        }
    }
}
