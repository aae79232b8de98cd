"""A session with asyncpg: arrays of many types both ways, COPY, cursors. The server's URL is the argument."""

import asyncio
import datetime
import decimal
import json
import sys
import uuid

import asyncpg


def check(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


async def arrays(connection):
    await connection.execute(
        """CREATE TABLE t (id serial PRIMARY KEY, a int[], t text[], n numeric[], s timestamptz[], u uuid[], j jsonb,
        b bytea, i interval, d date, m timestamp(3), o oid, c name)"""
    )
    row = {
        "a": [1, 2, None],
        "t": ["a", 'b"c', ""],
        "n": [decimal.Decimal("1.50")],
        "s": [datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone.utc)],
        "u": [uuid.UUID(int=5)],
        "j": '{"a": 1}',
        "b": b"\0xyz",
        "i": datetime.timedelta(days=1, seconds=2),
        "d": datetime.date(2026, 1, 2),
        "m": datetime.datetime(2026, 1, 2, 3, 4, 5, 678_000),
        "o": 4_000_000_000,
        "c": "short",
    }
    columns = ", ".join(row)
    places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
    await connection.execute(f"INSERT INTO t ({columns}) VALUES ({places})", *row.values())
    check(dict(await connection.fetchrow(f"SELECT {columns} FROM t")), row)
    await connection.executemany("INSERT INTO t (a) VALUES ($1)", [([1],), ([2, 3],)])
    await connection.copy_records_to_table("t", records=[([9], ["q"])], columns=["a", "t"])
    found = await connection.fetch("SELECT id FROM t WHERE id = ANY($1::int[]) ORDER BY id", [1, 3, 99])
    check([found["id"] for found in found], [1, 3])
    found = await connection.fetch("SELECT * FROM unnest($1::int[], $2::text[]) AS u(n, t)", [1, 2], ["x", "y"])
    check([tuple(found) for found in found], [(1, "x"), (2, "y")])
    async with connection.transaction(isolation="serializable"):
        check([found["id"] async for found in connection.cursor("SELECT id FROM t ORDER BY id", prefetch=2)], [1, 2, 3, 4])


async def catalogs(connection):
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    check(await connection.fetchval("SELECT j FROM t WHERE id = 1"), {"a": 1})
    check(await connection.fetchval("SELECT 't'::regclass"), "t")
    check(await connection.fetchval("SELECT 'int'::regtype"), "integer")
    names = "SELECT array_agg(attname ORDER BY attnum) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum IN (1, 2)"
    check(await connection.fetchval(names), ["id", "a"])
    numbers = "SELECT array_agg(oid ORDER BY oid) FROM pg_type WHERE oid = ANY($1::oid[])"
    check(await connection.fetchval(numbers, [25, 23, 1]), [23, 25])


async def labels(connection):
    await connection.execute("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE moods (m mood PRIMARY KEY, s mood[])")
    await connection.execute("INSERT INTO moods VALUES ($1, $2)", "sad", ["happy", None])
    await connection.execute("INSERT INTO moods VALUES ($1, $2)", "happy", [])
    found = await connection.fetch("SELECT m, s FROM moods WHERE m >= $1 AND m = ANY($2) ORDER BY m", "sad", ["sad", "happy"])
    check([tuple(row) for row in found], [("sad", ["happy", None]), ("happy", [])])
    try:
        await connection.execute("INSERT INTO moods VALUES ($1, NULL)", "glad")
        raise AssertionError("a label that there is not")
    except asyncpg.InvalidTextRepresentationError:
        pass


async def main():
    connection = await asyncpg.connect(sys.argv[1])
    await arrays(connection)
    await catalogs(connection)
    await labels(connection)
    await connection.close()
    print("ok")


asyncio.run(main())
