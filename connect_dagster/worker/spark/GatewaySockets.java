package connect.dagster;

import java.lang.reflect.Field;
import java.net.Socket;
import java.net.SocketException;
import java.util.List;
import py4j.ClientServerConnection;
import py4j.GatewayServer;

/**
 * The sockets by which Python's threads call this JVM. A response of more than 8 KB is written in several pieces, of
 * which the system keeps the last one back until Python's side has confirmed the others: 40 ms.
 */
public final class GatewaySockets {
    private final List connections;
    private final Field socket;

    /** Fails where py4j has other parts. */
    public GatewaySockets(GatewayServer server) throws ReflectiveOperationException {
        Field field = GatewayServer.class.getDeclaredField("connections");
        field.setAccessible(true);
        connections = (List) field.get(server);
        socket = ClientServerConnection.class.getDeclaredField("socket");
        socket.setAccessible(true);
    }

    /** Has those that are open now send at once. */
    public void sendAtOnce() throws IllegalAccessException {
        Object[] all = connections.toArray();
        for (int i = 0; i < all.length; i++) {
            try {
                ((Socket) socket.get(all[i])).setTcpNoDelay(true);
            } catch (SocketException error) {
                // it was closed meanwhile
            }
        }
    }
}
