// Sequelize: makes tables, compares them with its models, and works with rows. The server's address comes from libpq's
// environment variables.
"use strict";

const assert = require("node:assert/strict");
const { DataTypes, Op, Sequelize, Transaction } = require("sequelize");

async function main() {
  const { PGHOST, PGPORT, PGUSER, PGDATABASE } = process.env;
  const sequelize = new Sequelize(PGDATABASE || "postgres", PGUSER || "postgres", "", {
    dialect: "postgres", host: PGHOST, port: PGPORT, logging: false,
  });
  const Person = sequelize.define("Person", {
    name: { type: DataTypes.STRING, allowNull: false, unique: true },
    age: DataTypes.INTEGER,
    tags: DataTypes.ARRAY(DataTypes.STRING),
    more: DataTypes.JSONB,
    balance: DataTypes.DECIMAL(10, 2),
    seen: DataTypes.DATE(3),
    mood: { type: DataTypes.ENUM("sad", "happy"), defaultValue: "sad" },
  });
  const Post = sequelize.define("Post", { title: DataTypes.TEXT }, { indexes: [{ fields: ["title"] }] });
  const Tag = sequelize.define("Tag", { word: { type: DataTypes.STRING(10), primaryKey: true } });
  Person.hasMany(Post);
  Post.belongsTo(Person);
  Post.belongsToMany(Tag, { through: "PostTags" });
  Tag.belongsToMany(Post, { through: "PostTags" });
  await sequelize.sync({ force: true });
  await sequelize.sync();
  await sequelize.sync({ alter: true });

  const seen = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  const ann = await Person.create({ name: "ann", age: 3, tags: ["x", "y"], more: { a: 1 }, balance: "3.50", seen });
  await ann.reload();
  assert.deepEqual([ann.tags, ann.more, ann.balance, ann.seen.getTime()], [["x", "y"], { a: 1 }, "3.50", seen.getTime()]);
  await Person.bulkCreate([{ name: "bob", age: 4 }, { name: "ann", age: 5 }],
    { updateOnDuplicate: ["age"], conflictAttributes: ["name"] });
  await ann.update({ mood: "happy" });
  assert.equal(await Person.count({ where: { mood: "happy" } }), 1);
  await assert.rejects(ann.update({ mood: "none" }));
  await ann.reload();
  const found = await Person.findAndCountAll({
    where: { age: { [Op.gte]: 3 }, name: { [Op.like]: { [Op.any]: ["a%", "b%"] } } }, order: [["age", "DESC"]], limit: 1,
  });
  assert.deepEqual([found.count, found.rows[0].name], [2, "ann"]);
  assert.equal(await Person.count({ where: { "more.a": 1, tags: { [Op.contains]: ["x"] } } }), 1);
  const post = await Post.create({ title: "first", PersonId: ann.id, Tags: [{ word: "new" }] }, { include: [Tag] });
  const whole = await Post.findOne({ include: [Person, Tag], where: { id: post.id } });
  assert.deepEqual([whole.Person.name, whole.Tags.map((tag) => tag.word)], ["ann", ["new"]]);
  await Person.upsert({ name: "bob", age: 9 });
  await Person.increment({ age: 1 }, { where: { name: "bob" } });

  const isolationLevel = Transaction.ISOLATION_LEVELS.SERIALIZABLE;
  await sequelize.transaction({ isolationLevel }, async (transaction) => {
    const bob = await Person.findOne({ where: { name: "bob" }, lock: transaction.LOCK.UPDATE, transaction });
    assert.equal(bob.age, 10);
    await bob.update({ age: 11 }, { transaction });
    await Person.findOne({ where: { name: "ann" }, lock: transaction.LOCK.NO_KEY_UPDATE, skipLocked: true, transaction });
  });
  const failing = sequelize.transaction(async (transaction) => {
    await Person.create({ name: "nobody" }, { transaction });
    throw new Error("taken back");
  });
  await assert.rejects(failing, /taken back/);
  assert.equal(await Person.count({ where: { name: "nobody" } }), 0);
  await assert.rejects(Person.create({ name: "ann" }), { name: "SequelizeUniqueConstraintError" });

  const tables = sequelize.getQueryInterface();
  const columns = await tables.describeTable("People");
  assert.deepEqual([columns.id.primaryKey, columns.name.type, columns.name.allowNull],
    [true, "CHARACTER VARYING(255)", false]);
  const indexes = await tables.showIndex("Posts");
  assert.deepEqual(indexes.map((index) => [index.name, index.fields.map((field) => field.attribute)]),
    [["Posts_pkey", ["id"]], ["posts_title", ["title"]]]);
  const [reference] = await tables.getForeignKeyReferencesForTable("Posts");
  assert.deepEqual([reference.columnName, reference.referencedTableName], ["PersonId", "People"]);
  await tables.changeColumn("People", "age", { type: DataTypes.BIGINT, defaultValue: 4 });
  await tables.renameColumn("People", "age", "years");
  await tables.removeIndex("Posts", "posts_title");
  await sequelize.drop({ cascade: true });
  await sequelize.close();
  console.log("ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
