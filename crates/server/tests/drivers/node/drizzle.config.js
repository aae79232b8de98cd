const { PGHOST, PGPORT } = process.env;
module.exports = {
  dialect: "postgresql",
  schema: "./drizzle-schema.js",
  out: "./drizzle-out",
  dbCredentials: { url: `postgres://postgres@${PGHOST}:${PGPORT}/postgres` },
};
