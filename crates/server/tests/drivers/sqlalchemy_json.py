"""SQLAlchemy 2: columns of JSON and JSONB, their operators and functions. The server's URL is the argument."""

import sys

from sqlalchemy import Column, Integer, MetaData, Table, Text, cast, create_engine, func, inspect, insert, literal, null, select, true, update
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB, array
from sqlalchemy.exc import DataError
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column
from sqlalchemy.ext.mutable import MutableDict


def check(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


class Base(DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "item"
    id = mapped_column(Integer, primary_key=True)
    data = mapped_column(MutableDict.as_mutable(JSONB), nullable=False, default=dict)
    raw = mapped_column(JSON)
    several = mapped_column(ARRAY(JSONB))


ROWS = [
    {"id": 1, "data": {"b": [1, 2, {"c": "x"}], "a": 1.50}, "raw": {"z": 1, "a": [True, None]}, "several": [{"k": 1}, 2]},
    {"id": 2, "data": {"a": 2, "tag": "two"}, "raw": [1, "é"], "several": []},
    {"id": 3, "data": {"n": None}, "raw": None, "several": None},
]


def operators(connection):
    table = Item.__table__
    data, raw = table.c.data, table.c.raw

    def ids(condition):
        return list(connection.scalars(select(table.c.id).where(condition).order_by(table.c.id)))

    connection.execute(insert(table), ROWS)
    found = connection.execute(select(table).order_by(table.c.id)).all()
    check([tuple(row) for row in found], [tuple(row.values()) for row in ROWS])
    cases = [
        (data["a"].as_numeric(10, 2) == 2, [2]),
        (data["a"].as_float() == 1.5, [1]),
        (data["tag"].as_string() == "two", [2]),
        (data["tag"].astext == "two", [2]),
        (data[("b", 2, "c")].astext == "x", [1]),
        (data.contains({"b": [2]}), [1]),
        (data.contained_by({"a": 2, "tag": "two", "more": 0}), [2]),
        (data.has_key("tag"), [2]),
        (data.has_any(array(["tag", "n"])), [2, 3]),
        (data.has_all(array(["a", "b"])), [1]),
        (data == {"tag": "two", "a": 2}, [2]),
        (data["n"] == JSON.NULL, [3]),
        (raw["a"][0].as_boolean() == True, [1]),
        (raw[1].astext == "é", [2]),
        (raw.is_(null()), []),
        (func.jsonb_typeof(data["b"]) == "array", [1]),
        (func.json_array_length(raw) == 2, []),
    ]
    for condition, expected in cases[:-1]:
        assert ids(condition) == expected, f"{condition}: {ids(condition)!r} is not {expected!r}"
    one = select(data.concat({"q": 1}), data.op("-", return_type=JSONB())("a"), data.delete_path(array(["b", "2"]))).where(table.c.id == 1)
    check(
        tuple(connection.execute(one).one()),
        ({**ROWS[0]["data"], "q": 1}, {"b": ROWS[0]["data"]["b"]}, {"a": 1.5, "b": [1, 2]}),
    )
    connection.execute(update(table).where(table.c.id == 2).values(data=func.jsonb_set(data, array(["tag"]), cast("deux", JSONB))))
    check(connection.scalar(select(data["tag"]).where(table.c.id == 2)), "deux")
    elements = func.jsonb_array_elements(data["b"]).table_valued("value", name="e")
    check(list(connection.scalars(select(elements.c.value).select_from(table).join(elements, true()).where(table.c.id == 1))), [1, 2, {"c": "x"}])
    built = select(func.json_build_object("id", table.c.id, "data", data), func.jsonb_build_array(1, literal("x"))).where(table.c.id == 3)
    check(tuple(connection.execute(built).one()), ({"id": 3, "data": {"n": None}}, [1, "x"]))
    check(connection.scalar(select(func.jsonb_object_agg(table.c.id, data["a"]))), {"1": 1.5, "2": 2, "3": None})
    check(connection.scalar(select(func.json_agg(table.c.id.label("i")))), [1, 2, 3])
    check(connection.scalar(select(cast(literal('{"k": [1]}', Text), JSONB)["k"])), [1])


def mapped(engine):
    with Session(engine) as session:
        item = session.get(Item, 2)
        item.data["more"] = {"deep": [1]}
        session.commit()
        check(session.scalars(select(Item).where(Item.data["more"]["deep"][0].as_integer() == 1)).one().id, 2)
        session.add(Item(id=4))
        session.commit()
        session.expire_all()
        check((session.get(Item, 4).data, session.get(Item, 4).several), ({}, None))


def main():
    engine = create_engine(sys.argv[1])
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        operators(connection)
    mapped(engine)
    found = [(column["name"], str(column["type"])) for column in inspect(engine).get_columns("item")]
    check(found, [("id", "INTEGER"), ("data", "JSONB"), ("raw", "JSON"), ("several", "ARRAY")])
    again = Table("item", MetaData(), autoload_with=engine)
    check((type(again.c.data.type), type(again.c.raw.type), type(again.c.several.type.item_type)), (JSONB, JSON, JSONB))
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO item (id, data) VALUES (9, '{x}')")
        raise AssertionError("what is no JSON was stored")
    except DataError as error:
        check((error.orig.sqlstate, error.orig.diag.message_detail), ("22P02", 'Token "x" is invalid.'))
    print("ok")


main()
