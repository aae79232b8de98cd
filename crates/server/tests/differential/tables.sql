DROP TABLE IF EXISTS a;
DROP TABLE IF EXISTS w, wl;
DROP VIEW IF EXISTS kv;
DROP TABLE IF EXISTS k;
DROP TABLE IF EXISTS d;
DROP FUNCTION IF EXISTS below, lifted, pushed;
DROP TABLE IF EXISTS h, g, f;
DROP TABLE IF EXISTS e;
DROP TYPE IF EXISTS mood;
DROP PROCEDURE IF EXISTS run;
DROP TABLE IF EXISTS made;
DROP SCHEMA IF EXISTS other CASCADE;
DROP FUNCTION IF EXISTS named(int), named(text), named(numeric, int), counted, computed, next_made;
DROP FUNCTION IF EXISTS half, total, deep, bump, watch, tell;
CREATE TABLE a (id int PRIMARY KEY, b boolean, s smallint, i int, l bigint, r real, d double precision, n numeric(10, 2), m numeric,
    c char(5), v varchar(8), t text, y bytea, e date, p timestamp, z timestamptz, u uuid, w interval, q time);
CREATE TABLE k (id int PRIMARY KEY, grp int NOT NULL DEFAULT 1, name varchar(10) UNIQUE, qty int CHECK (qty >= 0), price numeric(8, 2) DEFAULT 0.5,
    code char(3), small smallint, day date);
INSERT INTO a VALUES
    (1, true, 1, 10, 100, 1.5, 2.5, 12.34, 0.001, 'ab', 'abc', 'Hello', '\x0001', '2024-02-29', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56+02', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1 day 02:03:04.5', '12:34:56.789'),
    (2, false, -32768, -2147483648, -9223372036854775808, -1e30, -1e300, -99999999.99, -12345678901234567890, 'a', '', '', '\x', '1999-12-31', '1970-01-01', '1999-12-31 23:59:59.999999', '00000000-0000-0000-0000-000000000000', '-1 year -2 mons +3 days -04:05:06', '00:00'),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, true, 32767, 2147483647, 9223372036854775807, 1e-30, 1e-300, 99999999.99, 12345678901234567890, 'abcde', 'abcdefgh', 'größer als %_', '\xffee', '0044-03-15 BC', '2000-01-01', '2000-01-01', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '178 years 11 mons 29 days 23:59:59.999999', '24:00'),
    (5, false, 0, 0, 0, 0, 0, 0, 0, '', ' ', ' padded  ', '\x00', 'infinity', 'infinity', '-infinity', NULL, '00:00', '23:59:59.999999'),
    (6, NULL, 7, 42, 42, 'NaN', 'Infinity', 0.5, 0.5, 'ä', 'x''y', 'a\b', '\x61', '2026-06-15', '2026-06-15 23:00:00', '2026-06-15 23:00:00-05', '12345678-1234-1234-1234-123456789abc', '30 days', '04:05'),
    (7, true, 2, 3, 5, 7, 11, 2.50, 3.14159, 'abc', 'abc', 'abc', '\x616263', '2000-01-01', '2000-01-01 00:00:00.5', '2000-01-01 00:00:00.5+00', NULL, '1 mon', '12:00');
INSERT INTO k VALUES (1, 1, 'one', 5, 1.25, 'aa', 1, '2024-01-01'), (2, 1, 'two', 0, 100, 'b', 2, '2024-01-02'), (3, 2, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 2, 'four', 7, 0.5, 'aa', -4, '1999-12-31'), (5, 3, 'five', 10, 99.99, 'c', 300, NULL);
CREATE INDEX k_grp_qty ON k (grp, qty);
CREATE VIEW kv AS SELECT *, qty + 1 AS more FROM k WHERE grp < 3 WITH CHECK OPTION;
CREATE TABLE f (id int PRIMARY KEY, up int REFERENCES f ON DELETE SET NULL ON UPDATE CASCADE, u int UNIQUE);
CREATE TABLE g (id int PRIMARY KEY, f int DEFAULT 2 REFERENCES f ON DELETE SET DEFAULT ON UPDATE CASCADE, u int REFERENCES f (u) ON DELETE SET NULL ON UPDATE SET NULL);
CREATE TABLE h (g int REFERENCES g ON DELETE CASCADE ON UPDATE CASCADE, x int, y bigint, f smallint REFERENCES f DEFERRABLE INITIALLY DEFERRED,
    UNIQUE (x, y), FOREIGN KEY (x, y) REFERENCES h (x, y) MATCH FULL ON DELETE RESTRICT);
INSERT INTO f VALUES (1, NULL, 10), (2, 1, 20), (3, 2, 30), (4, NULL, 40), (5, 5, NULL), (6, 4, NULL);
INSERT INTO g VALUES (1, 1, 10), (2, 3, 30), (3, NULL, 40), (4, 6, NULL), (5, 2, NULL);
INSERT INTO h VALUES (1, 1, 1, NULL), (2, NULL, NULL, 4), (3, 2, 2, 6), (4, 3, 3, NULL);
CREATE TABLE d (id int PRIMARY KEY, j json, b jsonb, ba jsonb[]);
INSERT INTO d VALUES
    (1, '{"a" : 1, "b":[1,{"c":2}], "a":"x"}', '{"a" : 1, "b":[1,{"c":2}], "x":null}', '{1,"{\"a\": 2}"}'),
    (2, '[1, "two", null, {"a":[]}]', '[1, "two", null, {"a":[]}]', '{}'),
    (3, NULL, NULL, NULL),
    (4, '"a"', '"a"', '{NULL,[]}'),
    (5, '{"a":{"b":[10, 20.0]},"":1}', '{"a":{"b":[10, 20.0]},"":1.0}', '{1.0}'),
    (6, '-1.50', '-1.50', '{"[1, 2]",null}');
CREATE TYPE mood AS ENUM ('sad', 'so so', 'ok', 'happy');
CREATE TABLE e (id int PRIMARY KEY, m mood, o mood NOT NULL DEFAULT 'ok', ms mood[]);
INSERT INTO e VALUES (1, 'sad', 'happy', '{sad,ok}'), (2, 'happy', 'ok', '{}'), (3, NULL, 'sad', NULL), (4, 'so so', 'so so', '{NULL,happy}'), (5, 'ok', 'ok', '{ok}');
CREATE INDEX e_m_o ON e (m, o);
CREATE PROCEDURE run(first int, last int, INOUT told text) LANGUAGE plpgsql AS $$
DECLARE
    r record;
    n int := 0;
BEGIN
    told := '';
    FOR r IN SELECT id, u FROM f WHERE id >= first AND id <= last ORDER BY id LOOP
        CONTINUE WHEN r.u IS NULL;
        BEGIN
            UPDATE f SET u = r.u + 10 WHERE id = r.id;
            n := n + 1;
        EXCEPTION WHEN unique_violation OR foreign_key_violation THEN
            told := told || r.id || ' ' || SQLSTATE || ' ';
        END;
    END LOOP;
    told := told || n;
END $$;
CREATE FUNCTION half(n int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT n / 2 $$;
CREATE FUNCTION total(low int DEFAULT 0) RETURNS bigint LANGUAGE sql STABLE AS $$ SELECT sum(u) FROM f WHERE id >= low $$;
CREATE FUNCTION deep(n int, most int DEFAULT 4) RETURNS int LANGUAGE plpgsql AS $$
DECLARE p int;
BEGIN
    SELECT up INTO p FROM f WHERE id = n;
    IF p IS NULL OR most = 0 THEN RETURN 0; END IF;
    RETURN 1 + deep(p, most - 1);
END $$;
CREATE FUNCTION bump(who int, by int) RETURNS int LANGUAGE plpgsql STRICT AS $$
DECLARE n int;
BEGIN
    UPDATE f SET u = u + by WHERE id = who RETURNING u INTO n;
    IF NOT FOUND THEN RAISE EXCEPTION 'none' USING ERRCODE = 'no_data_found'; END IF;
    RETURN n;
EXCEPTION WHEN integrity_constraint_violation THEN RETURN -1;
END $$;
CREATE SCHEMA other;
CREATE FUNCTION named(int) RETURNS text LANGUAGE sql AS $$ SELECT 'int ' || $1 $$;
CREATE FUNCTION named(text) RETURNS text LANGUAGE sql AS $$ SELECT 'text ' || $1 $$;
CREATE FUNCTION named(numeric, int DEFAULT 2) RETURNS text LANGUAGE sql AS $$ SELECT 'numeric ' || $1 || ' ' || $2 $$;
CREATE FUNCTION other.named(int) RETURNS text LANGUAGE sql SET search_path = other, public AS $$ SELECT 'other ' || public.named($1) $$;
CREATE FUNCTION counted(tab text, low int) RETURNS bigint LANGUAGE plpgsql AS $$
    DECLARE r bigint; BEGIN EXECUTE format('SELECT count(*) FROM %I WHERE id > $1', tab) INTO r USING low; RETURN r; END $$;
CREATE FUNCTION computed(tab text, change int) RETURNS SETOF int LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE 'UPDATE ' || tab || ' SET u = u + $1 WHERE id = $2' USING change, 2;
        RETURN QUERY EXECUTE format('SELECT u FROM %s WHERE id <= $1 ORDER BY id', tab) USING change;
    END $$;
CREATE FUNCTION next_made() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT coalesce(max(id), 0) + 1 FROM made); END $$;
CREATE TABLE made (id int PRIMARY KEY DEFAULT next_made(), u int, name text DEFAULT named(7) || '.');
CREATE FUNCTION below(top int) RETURNS TABLE (k int, v int) LANGUAGE sql STABLE AS $$ SELECT id, u FROM f WHERE id <= top $$;
CREATE FUNCTION lifted(by int) RETURNS SETOF f LANGUAGE plpgsql AS $$
DECLARE r f%ROWTYPE;
BEGIN
    FOR r IN SELECT * FROM f WHERE u IS NOT NULL ORDER BY id LOOP
        r.u := r.u + by;
        IF r.u < 100 THEN RETURN NEXT r; END IF;
    END LOOP;
    RETURN QUERY SELECT * FROM f WHERE id = by;
END $$;
CREATE FUNCTION pushed(who int, OUT old int, OUT now int) LANGUAGE plpgsql AS $$
BEGIN
    SELECT u INTO old FROM f WHERE id = who;
    UPDATE f SET u = u + 1 WHERE id = who RETURNING u INTO now;
END $$;
CREATE TABLE w (id int PRIMARY KEY, n int CHECK (n < 100), f int REFERENCES f ON DELETE CASCADE ON UPDATE CASCADE, note text,
    twice int GENERATED ALWAYS AS (n * 2) STORED);
CREATE TABLE wl (op text, old_n int, new_n int, note text);
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.n = 1 AND OLD.f IS NULL THEN RETURN NULL; END IF;
        RETURN OLD;
    END IF;
    IF NEW.n = 3 THEN RETURN NULL; END IF;
    IF NEW.n = 4 THEN RAISE EXCEPTION 'four' USING ERRCODE = 'check_violation'; END IF;
    IF NEW.n = 5 THEN NEW.n := 55; END IF;
    NEW.note := TG_OP || coalesce(NEW.note, '-');
    RETURN NEW;
END $$;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO wl VALUES (TG_OP || TG_WHEN || TG_LEVEL, OLD.n, NEW.n, TG_ARGV[0]);
    RETURN NULL;
END $$;
CREATE TRIGGER watch BEFORE INSERT OR UPDATE OR DELETE ON w FOR EACH ROW EXECUTE FUNCTION watch();
CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE ON w FOR EACH ROW EXECUTE FUNCTION tell('row');
CREATE TRIGGER once AFTER INSERT ON w EXECUTE FUNCTION tell('all');
CREATE TRIGGER moved AFTER UPDATE OF n, f ON w FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION tell('moved');
INSERT INTO w VALUES (1, 1, 1, 'a'), (2, 2, 2, NULL), (6, 6, 3, 'c');
