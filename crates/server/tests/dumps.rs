//! `pg_dump` and `psql`: what a server has goes into another one, and comes out as it was.

mod common;

use common::Running;
use common::program::{command, is_installed, run};
use std::path::Path;

const SETUP: &str = r#"
CREATE SCHEMA app;
CREATE TYPE app.mood AS ENUM ('sad', 'it''s', 'B b');
CREATE TYPE "Odd Type" AS ENUM ();
CREATE DOMAIN app.positive AS int DEFAULT 1 CONSTRAINT "above it's 0" CHECK (VALUE > 0) CHECK (VALUE <> 13);
CREATE DOMAIN "Small One" AS app.positive NOT NULL CHECK (VALUE < 100 OR VALUE = 1000);
CREATE DOMAIN app.feeling AS app.mood DEFAULT 'B b' CHECK (VALUE <> 'sad');
CREATE DOMAIN pair AS varchar(5)[] CHECK (array_length(VALUE, 1) = 2 AND VALUE[1] ~ '^[a-z]');
CREATE TABLE app.people (id serial PRIMARY KEY, name varchar(30) NOT NULL UNIQUE, age int DEFAULT 3 CHECK (age > 0),
    born date, seen timestamptz(3) DEFAULT '2026-01-02 03:04:05.678+00', balance numeric(10,2) DEFAULT '0',
    tags text[], more jsonb DEFAULT '{}', key uuid DEFAULT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
CREATE TABLE app.posts (id bigint GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY 2) PRIMARY KEY,
    person int REFERENCES app.people ON DELETE CASCADE, title text, body text DEFAULT 'x''y', UNIQUE (person, title),
    CONSTRAINT sane CHECK (title IS NULL OR (lower(title) LIKE 'a%' OR title !~ '^z' AND coalesce(length(body), 0) >= 0)
        AND CASE WHEN person > 5 THEN body <> 'x''y' ELSE true END));
CREATE INDEX ON app.posts (title, person);
ALTER TABLE app.posts ADD COLUMN slug text GENERATED ALWAYS AS (lower(replace(title, ' ', '-')) || coalesce(person, 0)) STORED;
CREATE UNIQUE INDEX ON app.people (lower(name), age DESC) INCLUDE (born) WHERE age > 1 AND name <> 'nobody';
CREATE INDEX ON app.people ((age * 2) DESC NULLS LAST, (more ->> 'it''s'));
CREATE TABLE "Odd Names" ("A b" int CHECK ("A b" > 0), d date DEFAULT '2020-01-01' CHECK (d > '2019-12-31'),
    e text DEFAULT upper('abc') || 'x', f bool CHECK (f IS NOT FALSE), g numeric(8,2) CHECK (g BETWEEN 0.5 AND 10 OR g = -1));
CREATE SEQUENCE app.counter START 5 INCREMENT 2;
CREATE TABLE app.moods (mood app.mood DEFAULT 'it''s' CHECK (mood <> 'sad' AND mood IN ('it''s', 'B b')),
    before app.mood[] DEFAULT '{sad,"B b"}', odd "Odd Type");
CREATE TABLE restricted (p app.positive PRIMARY KEY, s "Small One" DEFAULT '5', f app.feeling, v pair CHECK (v <> '{a,b}'),
    n numeric DEFAULT 7::app.positive);
CREATE VIEW narrow AS SELECT p, s + 1 AS more, 3::"Small One" AS three FROM restricted WHERE p > 2::app.positive;
CREATE FUNCTION halved(n app.positive, OUT h "Small One") LANGUAGE plpgsql AS $$ DECLARE p pair; BEGIN h := n / 2; END $$;
ALTER DOMAIN app.feeling ADD CONSTRAINT later CHECK (VALUE < 'B b') NOT VALID;
COMMENT ON DOMAIN app.positive IS 'more than zero';
COMMENT ON CONSTRAINT "above it's 0" ON DOMAIN app.positive IS 'not zero';
CREATE VIEW app.happy AS SELECT mood, 'sad'::app.mood AS other FROM app.moods WHERE mood > 'sad';
CREATE VIEW app.busy AS SELECT p.name, count(*) AS posts FROM app.people p JOIN app.posts q ON q.person = p.id GROUP BY p.name;
CREATE MATERIALIZED VIEW app.sums (who, posts) AS SELECT name, sum(posts) FROM app.busy GROUP BY name;
CREATE UNIQUE INDEX ON app.sums (who);
CREATE MATERIALIZED VIEW waiting AS SELECT who FROM app.sums WHERE posts > 1 WITH NO DATA;
CREATE VIEW over_sums AS SELECT s.posts, w.who FROM app.sums s LEFT JOIN waiting w ON w.who = s.who;
COMMENT ON MATERIALIZED VIEW app.sums IS 'sums';
CREATE TABLE "order" ("select" int PRIMARY KEY, "table" text UNIQUE, CHECK ("table" <> 'x'));
CREATE INDEX ON "order" ("table", "select");
CREATE VIEW "group" ("user", "A b", n) AS SELECT "select", "table", 5 AS m FROM "order" ORDER BY m;
COMMENT ON TYPE app.mood IS 'how one feels';
COMMENT ON TABLE app.people IS 'people';
COMMENT ON COLUMN app.people.name IS 'their name';
CREATE FUNCTION "Odd Half"(n int, OUT h int) LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN h := n / 2; END $$;
CREATE FUNCTION plus(a numeric(8,2), b numeric DEFAULT 1.5) RETURNS numeric RETURN a + b;
CREATE FUNCTION those(least int) RETURNS TABLE (name text, "Age" int) LANGUAGE sql STABLE AS
    'SELECT name, age FROM app.people WHERE age >= least';
CREATE FUNCTION everybody() RETURNS SETOF app.people LANGUAGE plpgsql AS
    $$ BEGIN RETURN QUERY SELECT * FROM app.people; END $$;
CREATE FUNCTION two(a int, OUT b int, OUT c text) LANGUAGE sql AS 'SELECT a, a::text';
CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    -- Not before $$ or 'it'.
    NEW.age := coalesce(NEW.age, length(TG_ARGV[0]));
    RETURN NEW;
END $body$;
CREATE PROCEDURE older(by int, INOUT most int DEFAULT 0) LANGUAGE sql BEGIN ATOMIC
    UPDATE app.people SET age = age + by;
    SELECT max(age) INTO most FROM app.people;
END;
CREATE TRIGGER "A told" BEFORE INSERT OR UPDATE OF age, name ON app.people FOR EACH ROW WHEN (NEW.age IS NULL)
    EXECUTE FUNCTION told('it''s', 5);
CREATE FUNCTION app.plus(text[], "Odd Type") RETURNS text LANGUAGE sql AS $$ SELECT $1[1] $$;
CREATE FUNCTION plus(a text) RETURNS text RETURN a || '+';
CREATE FUNCTION app.kept() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
CREATE FUNCTION app.within(n int) RETURNS int LANGUAGE sql SET search_path TO app, "Odd One", '' AS 'SELECT n';
CREATE TABLE computed (id int DEFAULT "Odd Half"(8), v text DEFAULT app.plus('{x}', NULL) || plus('a'), n int);
CREATE TRIGGER kept BEFORE DELETE ON "Odd Names" FOR EACH ROW EXECUTE FUNCTION app.kept();
CREATE PROCEDURE app.older(t text) LANGUAGE sql AS 'UPDATE app.people SET age = age + 1 WHERE name = t';
CREATE VIEW shown AS WITH h AS (SELECT "A b", plus(e) AS e FROM "Odd Names") SELECT h.e, plus("A b") AS f,
    app.plus('{x}', NULL) AS g FROM h WHERE "A b" IN (SELECT i.h FROM "Odd Half"(2 * h."A b") i);
SET search_path = app, public;
CREATE VIEW public.names AS SELECT name, plus(age) AS age FROM people ORDER BY name;
RESET search_path;
CREATE TRIGGER off AFTER DELETE ON app.people EXECUTE FUNCTION told();
ALTER TABLE app.people DISABLE TRIGGER off;
COMMENT ON FUNCTION plus(numeric, numeric) IS 'adds';
COMMENT ON FUNCTION those(int) IS 'those';
COMMENT ON PROCEDURE older(by int, INOUT most int) IS 'all of them';
COMMENT ON TRIGGER "A told" ON app.people IS 'it''s told';
INSERT INTO app.people (name, tags) VALUES ('ann', '{a,"b c"}'), ('bob', NULL);
INSERT INTO app.posts (person, title) VALUES (1, 'hello'), (1, E'tab\tand\\slash\nline'), (2, NULL);
INSERT INTO app.moods VALUES (DEFAULT, DEFAULT, NULL), ('B b', '{NULL,"it''s"}', NULL);
INSERT INTO computed (n) VALUES (1), (2);
INSERT INTO restricted VALUES (3, 99, 'it''s', '{c,d}'), (4, DEFAULT, NULL, NULL);
INSERT INTO "Odd Names" VALUES (1, DEFAULT, DEFAULT, true, 5);
SELECT nextval('app.counter');
"#;

/// Returns the dump of a server without its random words.
fn dump(server: &Running, options: &[&str]) -> String {
    let mut dump = command("pg_dump", server);
    dump.args(options);
    let text = run(dump);
    text.lines().filter(|line| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict")).fold(
        String::new(),
        |mut text, line| {
            text.push_str(line);
            text.push('\n');
            text
        },
    )
}

/// Runs a script with `psql`, which must not meet an error.
fn load(server: &Running, script: &str, name: &str) {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, script).expect("the file can be written");
    let mut psql = command("psql", server);
    psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&file);
    run(psql);
}

#[test]
fn a_dump_goes_into_another_server_and_comes_out_the_same() {
    if !is_installed("pg_dump", &["--version"]) || !is_installed("psql", &["--version"]) {
        return;
    }
    for engine in ["ilock", "mvo", "serial"] {
        let first = Running::new(engine);
        load(&first, SETUP, &format!("setup-{engine}.sql"));
        for (at, options) in [&[][..], &["--column-inserts"], &["--no-owner", "--rows-per-insert=2"]].iter().enumerate()
        {
            let written = dump(&first, options);
            assert!(written.contains("CHECK"), "{written}");
            let second = Running::new(engine);
            load(&second, &written, &format!("dump-{engine}-{at}.sql"));
            assert_eq!(dump(&second, options), written, "{engine} {options:?}");
        }
    }
}
