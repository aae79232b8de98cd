// TypeORM: makes a schema, finds that it is as its entities say, and works with rows. The server's address comes from
// libpq's environment variables.
"use strict";

// TypeORM sends queries while others run, which node-postgres is going to refuse.
process.noDeprecation = true;

require("reflect-metadata");
const assert = require("node:assert/strict");
const { DataSource, EntitySchema, Like } = require("typeorm");

const Person = new EntitySchema({
  name: "Person",
  columns: {
    id: { type: Number, primary: true, generated: true },
    name: { type: String, unique: true },
    age: { type: "int", default: 3 },
    tags: { type: "text", array: true, nullable: true },
    more: { type: "jsonb", nullable: true },
    made: { type: "timestamptz", createDate: true },
    seen: { type: "timestamp", precision: 3, nullable: true },
    mood: { type: "enum", enum: ["sad", "happy"], default: "sad" },
    moods: { type: "enum", enum: ["sad", "happy"], array: true, default: [] },
    key: { type: "uuid", generated: "uuid" },
    balance: { type: "numeric", precision: 10, scale: 2, default: 0 },
  },
  relations: { posts: { type: "one-to-many", target: "Post", inverseSide: "person" } },
  checks: [{ expression: '"age" > 0' }],
});
const Post = new EntitySchema({
  name: "Post",
  columns: {
    id: { type: "bigint", primary: true, generated: "identity" },
    title: { type: "varchar", length: 50 },
    gone: { type: "timestamptz", deleteDate: true, nullable: true },
    version: { type: "int", version: true },
  },
  relations: {
    person: { type: "many-to-one", target: "Person", inverseSide: "posts", onDelete: "CASCADE", joinColumn: true },
    tags: { type: "many-to-many", target: "Tag", joinTable: true, cascade: true },
  },
  indices: [{ columns: ["title"] }],
});
const Tag = new EntitySchema({
  name: "Tag",
  columns: { id: { type: "uuid", primary: true, generated: "uuid" }, word: { type: String } },
});

async function changeLabels(source) {
  for (const column of source.getMetadata("Person").columns.filter((column) => column.enum)) {
    column.enum = ["sad", "glad", "happy"];
  }
  await source.synchronize();
  const { upQueries } = await source.driver.createSchemaBuilder().log();
  assert.deepEqual(upQueries.map(({ query }) => query), []);
}

async function main() {
  const { PGHOST, PGPORT, PGUSER, PGDATABASE } = process.env;
  const source = new DataSource({
    type: "postgres", host: PGHOST, port: Number(PGPORT), username: PGUSER || "postgres",
    database: PGDATABASE || "postgres", entities: [Person, Post, Tag],
  });
  await source.initialize();
  await source.synchronize();
  const { upQueries } = await source.driver.createSchemaBuilder().log();
  assert.deepEqual(upQueries.map(({ query }) => query), []);

  // Another list of labels: TypeORM renames the type, makes another one, and changes the columns.
  await changeLabels(source);

  const people = source.getRepository("Person");
  const posts = source.getRepository("Post");
  const seen = new Date(2026, 0, 2, 3, 4, 5, 678);
  const ann = await people.save({ name: "ann", tags: ["x"], more: { a: 1 }, seen, moods: ["happy", "glad"] });
  assert.deepEqual([ann.mood, ann.moods], ["sad", ["happy", "glad"]]);
  assert.equal(await people.countBy({ mood: "sad" }), 1);
  await posts.save({ title: "first", person: ann, tags: [{ word: "new" }, { word: "old" }] });
  const [post] = await posts.find({ relations: { person: true, tags: true }, where: { title: Like("fi%") } });
  assert.deepEqual([post.person.name, post.person.seen.getTime(), post.tags.length], ["ann", seen.getTime(), 2]);
  const query = people.createQueryBuilder("person").leftJoinAndSelect("person.posts", "post");
  const [, count] = await query.where("person.age > :age", { age: 1 }).orderBy("person.id").take(5).getManyAndCount();
  assert.equal(count, 1);
  await people.upsert([{ name: "ann", age: 9 }, { name: "bob" }], ["name"]);
  await source.transaction("SERIALIZABLE", async (manager) => {
    const locked = await manager.findOne("Person", { where: { name: "ann" }, lock: { mode: "pessimistic_write" } });
    assert.equal(locked.age, 9);
    await manager.update("Person", locked.id, { age: 10 });
    await manager.findOne("Person", { where: { name: "bob" }, lock: { mode: "for_no_key_update" } });
  });
  await posts.softDelete({ title: "first" });
  assert.equal(await posts.count(), 0);
  await posts.restore({ title: "first" });
  await people.increment({ name: "ann" }, "age", 5);
  assert.equal((await people.findOneBy({ name: "ann" })).age, 15);
  await assert.rejects(people.insert({ name: "bob" }), /duplicate key value violates unique constraint/);
  await people.delete({ name: "ann" });
  assert.equal(await posts.count({ withDeleted: true }), 0);
  await source.dropDatabase();
  await source.destroy();
  console.log("ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
