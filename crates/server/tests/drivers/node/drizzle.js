// drizzle-kit: makes the tables of a schema, and then finds nothing to change; drizzle-orm works with their rows. The
// server's address comes from libpq's environment variables.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const path = require("node:path");
const { eq, sql } = require("drizzle-orm");
const { drizzle } = require("drizzle-orm/node-postgres");
const { Pool } = require("pg");
const { people, posts } = require("./drizzle-schema.js");

function push() {
  const kit = path.join(__dirname, "node_modules/.bin/drizzle-kit");
  return execFileSync(kit, ["push", "--force"], { cwd: __dirname, encoding: "utf8" });
}

async function main() {
  assert.match(push(), /Changes applied/);
  assert.match(push(), /No changes detected/);
  const pool = new Pool();
  const db = drizzle(pool);
  const [ann] = await db.insert(people).values({ name: "ann", tags: ["x", "y"] }).returning();
  assert.deepEqual([ann.age, ann.tags, ann.more, ann.balance, ann.mood], [3, ["x", "y"], {}, "0.00", "happy"]);
  assert.equal((await db.select().from(people).where(eq(people.mood, "sad"))).length, 0);
  await db.insert(people).values({ name: "ann", age: 4 }).onConflictDoUpdate({ target: people.name, set: { age: 4 } });
  const found = await db.transaction(async (tx) => {
    await tx.insert(posts).values([{ person: ann.id, title: "a" }, { person: ann.id, title: "b" }]);
    await tx.select().from(people).where(eq(people.id, ann.id)).for("update");
    return tx.select({ name: people.name, posts: sql`count(*)::int` }).from(people)
      .leftJoin(posts, eq(posts.person, people.id)).groupBy(people.name);
  }, { isolationLevel: "serializable" });
  assert.deepEqual(found, [{ name: "ann", posts: 2 }]);
  await db.delete(people).where(eq(people.id, ann.id));
  assert.deepEqual(await db.select().from(posts), []);
  await pool.end();
  console.log("ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
