// The tables of drizzle.js.
"use strict";

const pg = require("drizzle-orm/pg-core");

const mood = pg.pgEnum("mood", ["sad", "happy"]);
const people = pg.pgTable("people", {
  id: pg.serial("id").primaryKey(),
  name: pg.varchar("name", { length: 50 }).notNull().unique(),
  age: pg.integer("age").default(3),
  tags: pg.text("tags").array(),
  more: pg.jsonb("more").default({}),
  seen: pg.timestamp("seen", { precision: 3, withTimezone: true }).defaultNow(),
  mood: mood("mood").default("happy"),
  balance: pg.numeric("balance", { precision: 10, scale: 2 }).default("0"),
});
const posts = pg.pgTable(
  "posts",
  {
    id: pg.uuid("id").defaultRandom().primaryKey(),
    person: pg.integer("person_id").references(() => people.id, { onDelete: "cascade" }),
    title: pg.text("title"),
    number: pg.bigint("number", { mode: "number" }).generatedAlwaysAsIdentity(),
  },
  (post) => [pg.index("posts_title").on(post.title), pg.uniqueIndex("posts_both").on(post.person, post.title)],
);

module.exports = { mood, people, posts };
