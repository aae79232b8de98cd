import java.math.BigDecimal;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.Arrays;
import org.postgresql.util.PGobject;

/** A session with PostgreSQL's JDBC driver: types, batches, fetch size, transactions. The server's URL is the argument. */
public class Main {
    static void check(Object found, Object expected) {
        if (!expected.equals(found)) {
            throw new AssertionError(found + " is not " + expected);
        }
    }

    interface Attempt {
        void run() throws SQLException;
    }

    static void fails(String state, Attempt attempt) {
        try {
            attempt.run();
        } catch (SQLException error) {
            check(error.getSQLState(), state);
            return;
        }
        throw new AssertionError("it should have failed with " + state);
    }

    static void documents(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE j (id int PRIMARY KEY, j json, b jsonb)");
        }
        // `??` is the driver's spelling of `?`.
        String sql = "SELECT b, b ->> 'a', j, b -> 'a' FROM j WHERE b ?? 'a' AND b @> ?::jsonb AND b ??| array['x', 'a'] ORDER BY id";
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO j VALUES (?, ?, ?)");
            PreparedStatement select = connection.prepareStatement(sql)) {
            for (int round = 1; round <= 8; round++) {
                PGobject value = new PGobject();
                value.setType("jsonb");
                value.setValue("{\"b\":1,\"a\":\"ä\"}");
                insert.setInt(1, round);
                insert.setObject(2, "{\"x\" :1}", Types.OTHER);
                insert.setObject(3, value);
                check(insert.executeUpdate(), 1);
                select.setString(1, "{\"b\": 1}");
                try (ResultSet row = select.executeQuery()) {
                    check(row.next(), true);
                    check(((PGobject) row.getObject(1)).getValue(), "{\"a\": \"ä\", \"b\": 1}");
                    check(((PGobject) row.getObject(1)).getType(), "jsonb");
                    check(row.getString(2), "ä");
                    check(row.getString(3), "{\"x\" :1}");
                    check(row.getMetaData().getColumnTypeName(3), "json");
                }
            }
            insert.setInt(1, 99);
            insert.setObject(2, "{", Types.OTHER);
            insert.setObject(3, null);
            fails("22P02", insert::executeUpdate);
        }
    }

    static void values(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE t (id serial PRIMARY KEY, flag boolean, small smallint, big bigint, real8 float8,"
                + " price numeric(10, 2), name varchar(20), data bytea, day date, at timestamp)");
        }
        String sql = "INSERT INTO t (flag, small, big, real8, price, name, data, day, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
        try (PreparedStatement insert = connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
            // The driver makes a named statement of it at the fifth execution.
            for (int round = 1; round <= 8; round++) {
                insert.setBoolean(1, true);
                insert.setShort(2, (short) -2);
                insert.setLong(3, 1L << 40);
                insert.setDouble(4, -2.25);
                insert.setBigDecimal(5, new BigDecimal("12.30"));
                insert.setString(6, "näme");
                insert.setBytes(7, new byte[] {0, -1});
                insert.setDate(8, Date.valueOf("2026-01-02"));
                insert.setTimestamp(9, Timestamp.valueOf("2026-01-02 03:04:05.678"));
                check(insert.executeUpdate(), 1);
                try (ResultSet keys = insert.getGeneratedKeys()) {
                    check(keys.next(), true);
                    check(keys.getInt("id"), round);
                }
            }
        }
        try (PreparedStatement select = connection.prepareStatement("SELECT * FROM t WHERE id = ?")) {
            for (int round = 1; round <= 8; round++) {
                select.setInt(1, round);
                try (ResultSet row = select.executeQuery()) {
                    check(row.next(), true);
                    check(row.getBoolean("flag"), true);
                    check(row.getShort("small"), (short) -2);
                    check(row.getLong("big"), 1L << 40);
                    check(row.getDouble("real8"), -2.25);
                    check(row.getBigDecimal("price"), new BigDecimal("12.30"));
                    check(row.getString("name"), "näme");
                    check(Arrays.equals(row.getBytes("data"), new byte[] {0, -1}), true);
                    check(row.getDate("day"), Date.valueOf("2026-01-02"));
                    check(row.getTimestamp("at"), Timestamp.valueOf("2026-01-02 03:04:05.678"));
                    check(row.getMetaData().getColumnTypeName(6), "numeric");
                    check(row.getMetaData().getColumnCount(), 10);
                }
            }
        }
    }

    static void batches(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE numbers (n int PRIMARY KEY, square bigint)");
        }
        connection.setAutoCommit(false);
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO numbers VALUES (?, ?)")) {
            for (int n = 0; n < 1000; n++) {
                insert.setInt(1, n);
                insert.setLong(2, (long) n * n);
                insert.addBatch();
            }
            check(Arrays.stream(insert.executeBatch()).allMatch(count -> count == 1), true);
        }
        connection.commit();
        try (PreparedStatement select = connection.prepareStatement("SELECT n, square FROM numbers ORDER BY n")) {
            select.setFetchSize(70);
            int expected = 0;
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    check(rows.getInt(1), expected);
                    check(rows.getLong(2), (long) expected * expected);
                    expected++;
                }
            }
            check(expected, 1000);
        }
        connection.commit();
        try (Statement batch = connection.createStatement()) {
            batch.addBatch("UPDATE numbers SET square = 0 WHERE n = 1");
            batch.addBatch("INSERT INTO numbers VALUES (1, 1)");
            batch.executeBatch();
            throw new AssertionError("the second one should have failed");
        } catch (BatchUpdateException error) {
            check(error.getSQLState(), "23505");
        }
        connection.rollback();
        connection.setAutoCommit(true);
    }

    static void transactions(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        check(connection.getTransactionIsolation(), Connection.TRANSACTION_SERIALIZABLE);
        try (Statement statement = connection.createStatement()) {
            check(statement.executeUpdate("DELETE FROM numbers WHERE n < 10"), 10);
            Savepoint savepoint = connection.setSavepoint();
            fails("22012", () -> statement.executeQuery("SELECT 1 / 0"));
            fails("25P02", () -> statement.executeQuery("SELECT 1"));
            connection.rollback(savepoint);
            try (ResultSet rows = statement.executeQuery("SELECT count(*) FROM numbers")) {
                check(rows.next(), true);
                check(rows.getInt(1), 990);
            }
        }
        connection.rollback();
        connection.setReadOnly(true);
        try (Statement statement = connection.createStatement()) {
            fails("25006", () -> statement.executeUpdate("DELETE FROM numbers"));
        }
        connection.rollback();
        connection.setReadOnly(false);
        connection.setAutoCommit(true);
    }

    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            values(connection);
            documents(connection);
            batches(connection);
            transactions(connection);
            check(connection.isValid(1), true);
        }
        System.out.println("ok");
    }
}
