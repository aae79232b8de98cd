"""What SQLAlchemy 2 finds out about tables that it did not make: each answer is what it finds on PostgreSQL 15. The server's URL is the argument."""

import sys

from sqlalchemy import MetaData, create_engine, insert, inspect, select

SCHEMA = """
CREATE TABLE person (id serial PRIMARY KEY, name varchar(30) NOT NULL UNIQUE, born date, note text DEFAULT 'x',
    score numeric(8, 2), active boolean NOT NULL DEFAULT true);
CREATE TABLE account (id bigint PRIMARY KEY, owner_id int NOT NULL REFERENCES person ON DELETE CASCADE, code char(4), kind text,
    amount numeric(10, 2) NOT NULL CONSTRAINT owned CHECK (owner_id > 0), made timestamptz DEFAULT now(), CONSTRAINT account_code_kind UNIQUE (code, kind));
CREATE INDEX account_owner ON account (owner_id);
CREATE INDEX account_two ON account (kind, code);
CREATE TABLE pair (x int, y int, z smallint, data bytea, u uuid, tags text[], f4 real, f8 float8, at timestamp, PRIMARY KEY (x, y));
CREATE TABLE child (id int PRIMARY KEY, px int, py int,
    FOREIGN KEY (px, py) REFERENCES pair (x, y) ON UPDATE SET NULL DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE plain (a int, "B c" text);
CREATE VIEW rich AS SELECT name, amount FROM person JOIN account ON owner_id = person.id WHERE amount > 10;
CREATE SEQUENCE lone START 5 INCREMENT 2;
"""

FOREIGN_KEYS = {
    "account": [("account_owner_id_fkey", ["owner_id"], "person", ["id"], {"ondelete": "CASCADE"})],
    "child": [
        (
            "child_px_py_fkey", ["px", "py"], "pair", ["x", "y"],
            {"onupdate": "SET NULL", "deferrable": True, "initially": "DEFERRED"},
        )
    ],
}


def check(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def columns(inspector, table):
    return [
        (column["name"], str(column["type"]), column["nullable"], column["default"], column["autoincrement"])
        for column in inspector.get_columns(table)
    ]


def tables(inspector):
    check(sorted(inspector.get_table_names()), ["account", "child", "pair", "person", "plain"])
    check(
        columns(inspector, "person"),
        [
            ("id", "INTEGER", False, "nextval('person_id_seq'::regclass)", True),
            ("name", "VARCHAR(30)", False, None, False),
            ("born", "DATE", True, None, False),
            ("note", "TEXT", True, "'x'::text", False),
            ("score", "NUMERIC(8, 2)", True, None, False),
            ("active", "BOOLEAN", False, "true", False),
        ],
    )
    types = [kind for _, kind, *_ in columns(inspector, "pair")]
    expected = ["INTEGER", "INTEGER", "SMALLINT", "BYTEA", "UUID", "ARRAY", "REAL", "DOUBLE PRECISION", "TIMESTAMP"]
    check(types, expected)
    check(columns(inspector, "account")[5], ("made", "TIMESTAMP", True, "now()", False))
    check([name for name, *_ in columns(inspector, "plain")], ["a", "B c"])
    check(sorted(name for _, name in inspector.get_multi_columns()), sorted(inspector.get_table_names()))
    check(inspector.get_table_comment("person"), {"text": None})


def keys(inspector):
    primary = {table: inspector.get_pk_constraint(table) for table in inspector.get_table_names()}
    found = {table: (key["name"], key["constrained_columns"]) for table, key in primary.items()}
    check((found["pair"], found["plain"]), (("pair_pkey", ["x", "y"]), (None, [])))
    for table in inspector.get_table_names():
        found = [
            (key["name"], key["constrained_columns"], key["referred_table"], key["referred_columns"], key["options"])
            for key in inspector.get_foreign_keys(table)
        ]
        check(found, FOREIGN_KEYS.get(table, []))
    unique = [(one["name"], one["column_names"]) for one in inspector.get_unique_constraints("account")]
    check(unique, [("account_code_kind", ["code", "kind"])])
    indexes = [(index["name"], index["column_names"], index["unique"]) for index in inspector.get_indexes("account")]
    expected = [
        ("account_code_kind", ["code", "kind"], True),
        ("account_owner", ["owner_id"], False),
        ("account_two", ["kind", "code"], False),
    ]
    check(sorted(indexes), expected)
    checks = [(one["name"], one["sqltext"]) for one in inspector.get_check_constraints("account")]
    check(checks, [("owned", "owner_id > 0")])


def others(inspector):
    check(inspector.get_view_names(), ["rich"])
    check("person" in inspector.get_view_definition("rich"), True)
    check([(name, kind) for name, kind, *_ in columns(inspector, "rich")], [("name", "VARCHAR(30)"), ("amount", "NUMERIC(10, 2)")])
    check(sorted(inspector.get_sequence_names()), ["lone", "person_id_seq"])
    check((inspector.get_materialized_view_names(), inspector.get_temp_table_names()), ([], []))
    check((inspector.get_enums(), inspector.get_domains()), ([], []))


def reflection(engine):
    metadata = MetaData()
    metadata.reflect(engine, views=True)
    check(sorted(metadata.tables), ["account", "child", "pair", "person", "plain", "rich"])
    order = [table.name for table in metadata.sorted_tables]
    check((order.index("person") < order.index("account"), order.index("pair") < order.index("child")), (True, True))
    person, account = metadata.tables["person"], metadata.tables["account"]
    check([key.target_fullname for key in account.foreign_keys], ["person.id"])
    with engine.begin() as connection:
        connection.execute(insert(person).values(name="Ada"))
        connection.execute(insert(account).values(id=1, owner_id=1, amount=5))
        found = connection.execute(select(person.c.name, account.c.amount).join(account)).all()
        check([(name, int(amount)) for name, amount in found], [("Ada", 5)])
    # What was found can be made again.
    metadata.remove(metadata.tables["rich"])
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP VIEW rich")
    metadata.drop_all(engine)
    check(inspect(engine).get_table_names(), [])
    metadata.create_all(engine)
    check(len(inspect(engine).get_table_names()), 5)


def main():
    engine = create_engine(sys.argv[1])
    with engine.begin() as connection:
        for statement in SCHEMA.split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)
    tables(inspect(engine))
    keys(inspect(engine))
    others(inspect(engine))
    reflection(engine)
    print("ok")


main()
