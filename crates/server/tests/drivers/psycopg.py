"""A session with psycopg 3 in text and binary formats. The server's address comes from libpq's environment variables."""

import datetime
import decimal
import uuid

import psycopg
from psycopg.types import TypeInfo
from psycopg.types.json import Json, Jsonb

COLUMNS = """
    id int PRIMARY KEY, flag bool, small int2, big int8, real4 float4, real8 float8, price numeric(10, 2),
    name text, code char(4), data bytea, day date, at timestamp, at_zone timestamptz, key uuid,
    clock time, span interval
"""

UTC = datetime.timezone.utc
ROW = (
    1, True, -2, 2**40, 1.5, -2.25, decimal.Decimal("12.30"),
    "näme", "ab  ", b"\x00\xff", datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5, 600000),
    datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    datetime.time(3, 4, 5, 600000), datetime.timedelta(days=-3, hours=5, microseconds=7),
)


def check(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def values(connection, binary):
    placeholders = ", ".join(["%b" if binary else "%t"] * len(ROW))
    with connection.cursor(binary=binary) as cursor:
        cursor.execute("DELETE FROM t")
        cursor.execute(f"INSERT INTO t VALUES ({placeholders})", ROW)
        cursor.execute("SELECT * FROM t WHERE id = %s", (1,))
        check(cursor.fetchone(), ROW)
        cursor.execute("UPDATE t SET name = %s WHERE id = %s RETURNING name", (None, 1))
        check(cursor.fetchone(), (None,))
    connection.commit()


def transactions(connection):
    with connection.transaction():
        connection.execute("UPDATE t SET big = 1")
    try:
        with connection.transaction():
            connection.execute("UPDATE t SET big = 2")
            connection.execute("SELECT 1 / 0")
    except psycopg.errors.DivisionByZero:
        pass
    else:
        raise AssertionError("a division by zero succeeded")
    check(connection.execute("SELECT big FROM t").fetchone(), (1,))
    try:
        connection.execute("INSERT INTO t (id) VALUES (1)")
    except psycopg.errors.UniqueViolation:
        connection.rollback()
    else:
        raise AssertionError("a second row with the same key was inserted")


def many(connection):
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t (id, name) VALUES (%s, %s)", [(id, f"row {id}") for id in range(2, 100)])
        cursor.execute("SELECT count(*) FROM t")
        check(cursor.fetchone(), (99,))
    with connection.pipeline():
        first = connection.execute("SELECT name FROM t WHERE id = %s", (50,))
        second = connection.execute("SELECT name FROM t WHERE id = %s", (60,))
    check((first.fetchone(), second.fetchone()), (("row 50",), ("row 60",)))
    connection.commit()


def copies(connection):
    with connection.cursor() as cursor:
        with cursor.copy("COPY t (id, name) FROM STDIN") as copy:
            for id in range(1000, 2000):
                copy.write_row((id, f"copied\t{id}"))
        with cursor.copy("COPY t (id, name) TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["int4", "text"])
            rows = dict(copy.rows())
        check((len(rows), rows[1000], rows[1]), (1099, "copied\t1000", None))
    connection.commit()


def types(connection):
    """What psycopg asks of the catalogs to register a type, by any of its names."""
    for name, expected in [
        ("int4", ("int4", 23, 1007, "integer")),
        ("integer", ("int4", 23, 1007, "integer")),
        ("varchar", ("varchar", 1043, 1015, "character varying")),
        ("timestamptz", ("timestamptz", 1184, 1185, "timestamp with time zone")),
        ("name", ("name", 19, 1003, "name")),
        ("_int4", ("_int4", 1007, 0, "integer[]")),
        ("text[]", ("_text", 1009, 0, "text[]")),
        ("oid", ("oid", 26, 1028, "oid")),
    ]:
        info = TypeInfo.fetch(connection, name)
        check((info.name, info.oid, info.array_oid, info.regtype), expected)
    check(TypeInfo.fetch(connection, "nothing"), None)
    cursor = connection.execute("SELECT id AS other, name, id + 1 FROM t")
    number, = connection.execute("SELECT 't'::regclass::oid::int").fetchone()
    found = [(cursor.pgresult.ftable(at), cursor.pgresult.ftablecol(at)) for at in range(3)]
    check(found, [(number, 1), (number, 8), (0, 0)])
    connection.commit()


def json_values(connection):
    """JSON as parameters, results, elements of arrays and in COPY, in both formats."""
    connection.execute("CREATE TABLE j (id int PRIMARY KEY, j json, b jsonb, several jsonb[])")
    value = {"é": [1, 2.5, None, {"a": "\\\"\n"}], "b": True}
    for id, binary in enumerate((False, True)):
        format = "%b" if binary else "%t"
        with connection.cursor(binary=binary) as cursor:
            insert = f"INSERT INTO j VALUES ({', '.join([format] * 4)}) RETURNING j, b, several, b -> 'é', j ->> 'b'"
            cursor.execute(insert, (id, Json(value), Jsonb(value), [Jsonb(1), Jsonb(value)]))
            check(cursor.fetchone(), (value, value, [1, value], value["é"], "true"))
            cursor.execute(f"SELECT id FROM j WHERE b @> {format} AND b = {format} AND b ? {format}", (Jsonb({"b": True}), Jsonb(value), "é"))
            check(cursor.fetchone() is None, False)
            with cursor.copy(f"COPY j (b, j) TO STDOUT (FORMAT {'binary' if binary else 'text'})") as copy:
                copy.set_types(["jsonb", "json"])
                check(list(copy.rows()), [(value, value)] * (id + 1))
            with cursor.copy(f"COPY j (id, b) FROM STDIN (FORMAT {'binary' if binary else 'text'})") as copy:
                copy.set_types(["int4", "jsonb"])
                copy.write_row((10 + id, Jsonb([id])))
            cursor.execute("SELECT b FROM j WHERE id >= 10 ORDER BY id DESC LIMIT 1")
            check(cursor.fetchone(), ([id],))
            cursor.execute("DELETE FROM j WHERE id >= 10")
    check(connection.execute("SELECT j::text, b::text FROM j").fetchone()[1], '{"b": true, "é": [1, 2.5, null, {"a": "\\\\\\"\\n"}]}')
    for name, expected in [("json", ("json", 114, 199)), ("jsonb", ("jsonb", 3802, 3807))]:
        info = TypeInfo.fetch(connection, name)
        check((info.name, info.oid, info.array_oid), expected)
    connection.commit()


with psycopg.connect("") as connection:
    connection.execute(f"CREATE TABLE t ({COLUMNS})")
    connection.commit()
    for binary in (False, True):
        values(connection, binary)
    transactions(connection)
    many(connection)
    copies(connection)
    types(connection)
    json_values(connection)
print("ok")
