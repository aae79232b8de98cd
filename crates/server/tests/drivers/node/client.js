// A session with node-postgres, its pool and its cursors. The server's address comes from libpq's environment variables.
"use strict";

const assert = require("node:assert/strict");
const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");

async function values(client) {
  await client.query(`CREATE TABLE t (id serial PRIMARY KEY, flag boolean, small int2, big int8, real8 float8,
    price numeric(10, 2), name text NOT NULL, data bytea, day date, at timestamptz, key uuid)`);
  const at = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  const key = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
  const inserted = await client.query(
    `INSERT INTO t (flag, small, big, real8, price, name, data, day, at, key)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING *`,
    [true, -2, "1099511627776", -2.25, "12.30", "näme", Buffer.from([0, 255]), "2026-01-02", at, key],
  );
  assert.equal(inserted.command, "INSERT");
  const row = inserted.rows[0];
  assert.deepEqual([row.id, row.flag, row.small, row.big, row.real8], [1, true, -2, "1099511627776", -2.25]);
  assert.deepEqual([row.price, row.name, row.key], ["12.30", "näme", key]);
  assert.deepEqual(row.data, Buffer.from([0, 255]));
  assert.equal(row.at.getTime(), at.getTime());
  const named = { name: "by-id", text: "SELECT name, big FROM t WHERE id = $1" };
  for (let round = 0; round < 8; round++) {
    const { rows } = await client.query({ ...named, values: [1] });
    assert.deepEqual(rows, [{ name: "näme", big: "1099511627776" }]);
  }
  const empty = await client.query({ ...named, values: [99] });
  assert.deepEqual([empty.rowCount, empty.fields.map((field) => field.name)], [0, ["name", "big"]]);
  const two = await client.query("SELECT 1 AS one; SELECT 2 AS two");
  assert.deepEqual(two.map((result) => result.rows[0]), [{ one: 1 }, { two: 2 }]);
}

async function json(client) {
  await client.query("CREATE TABLE j (id serial PRIMARY KEY, j json, b jsonb, several jsonb[])");
  const value = { é: [1, 2.5, null, { a: '\\"\n' }], b: true };
  const text = JSON.stringify(value);
  const inserted = await client.query("INSERT INTO j (j, b, several) VALUES ($1, $2, $3) RETURNING *", [value, text, [text, "1"]]);
  assert.deepEqual(inserted.rows, [{ id: 1, j: value, b: value, several: [value, 1] }]);
  const found = await client.query("SELECT b -> 'é' AS list, j ->> 'b' AS b FROM j WHERE b @> $1 AND b ? $2", [{ b: true }, "é"]);
  assert.deepEqual(found.rows, [{ list: value.é, b: "true" }]);
  await assert.rejects(client.query("INSERT INTO j (b) VALUES ($1)", ["{x}"]), { code: "22P02", detail: 'Token "x" is invalid.' });
}

async function errors(client) {
  await assert.rejects(client.query("INSERT INTO t (id, name) VALUES (1, 'again')"), { code: "23505" });
  await assert.rejects(client.query("INSERT INTO t (name) VALUES ($1)", [null]), { code: "23502" });
  await assert.rejects(client.query("SELECT nothing FROM t"), { code: "42703", position: "8" });
  await client.query("BEGIN");
  await client.query("UPDATE t SET name = 'changed'");
  await assert.rejects(client.query("SELECT 1 / $1::int", [0]), { code: "22012" });
  await assert.rejects(client.query("SELECT 1"), { code: "25P02" });
  await client.query("ROLLBACK");
  assert.deepEqual((await client.query("SELECT name FROM t")).rows, [{ name: "näme" }]);
}

async function cursors(client) {
  await client.query("CREATE TABLE numbers (n int PRIMARY KEY)");
  const numbers = Array.from({ length: 2500 }, (_, n) => n);
  await client.query(`INSERT INTO numbers VALUES ${numbers.map((n) => `($${n + 1})`).join(", ")}`, numbers);
  const cursor = client.query(new Cursor("SELECT n FROM numbers WHERE n >= $1 ORDER BY n", [500]));
  const found = [];
  for (let rows = await cursor.read(300); rows.length > 0; rows = await cursor.read(300)) {
    found.push(...rows.map((row) => row.n));
  }
  await cursor.close();
  assert.deepEqual(found, numbers.slice(500));
}

// Ten clients at a time add to one row; whoever is told to tries again.
async function contend() {
  const pool = new Pool({ max: 10 });
  await pool.query("CREATE TABLE counter (id int PRIMARY KEY, n int8 NOT NULL)");
  await pool.query("INSERT INTO counter VALUES (1, 0)");
  const add = async () => {
    const client = await pool.connect();
    try {
      for (;;) {
        try {
          await client.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
          const { rows } = await client.query("SELECT n FROM counter WHERE id = $1 FOR UPDATE", [1]);
          await client.query("UPDATE counter SET n = $1 WHERE id = 1", [Number(rows[0].n) + 1]);
          await client.query("COMMIT");
          return;
        } catch (error) {
          await client.query("ROLLBACK");
          if (!["40001", "40P01"].includes(error.code)) throw error;
        }
      }
    } finally {
      client.release();
    }
  };
  await Promise.all(Array.from({ length: 100 }, add));
  assert.deepEqual((await pool.query("SELECT n FROM counter")).rows, [{ n: "100" }]);
  await pool.end();
}

async function main() {
  const client = new Client();
  await client.connect();
  await values(client);
  await json(client);
  await errors(client);
  await cursors(client);
  await client.end();
  await contend();
  console.log("ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
