"""A session with SQLAlchemy 2's ORM over psycopg 3. The server's URL is the argument."""

import enum
import sys
from decimal import Decimal

from sqlalchemy import ForeignKey, Numeric, String, create_engine, event, exc, func, inspect, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, joinedload, mapped_column, relationship, selectinload


class Base(DeclarativeBase):
    pass


class Mood(enum.Enum):
    SAD = 1
    HAPPY = 2


class Person(Base):
    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(30), unique=True)
    mood: Mapped[Mood] = mapped_column(default=Mood.HAPPY)
    accounts: Mapped[list["Account"]] = relationship(back_populates="owner", cascade="all, delete-orphan")


class Account(Base):
    __tablename__ = "account"
    id: Mapped[int] = mapped_column(primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("person.id"), index=True)
    amount: Mapped[Decimal] = mapped_column(Numeric(10, 2))
    owner: Mapped[Person] = relationship(back_populates="accounts")


def check(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def orm(engine):
    with Session(engine) as session:
        ada = Person(name="Ada", accounts=[Account(amount=Decimal("5.00")), Account(amount=Decimal("7.50"))])
        session.add_all([ada, Person(name="Blaise")])
        session.commit()
        check([person.name for person in session.scalars(select(Person).order_by(Person.name))], ["Ada", "Blaise"])
        check(session.scalars(select(Person.mood).where(Person.mood > Mood.SAD).distinct()).all(), [Mood.HAPPY])
        sums = select(Person.name, func.sum(Account.amount)).join(Account, isouter=True).group_by(Person.name)
        check(session.execute(sums.order_by(Person.name)).all(), [("Ada", Decimal("12.50")), ("Blaise", None)])
        for way in (selectinload, joinedload):
            session.expire_all()
            people = session.scalars(select(Person).options(way(Person.accounts)).order_by(Person.id)).unique()
            check([len(person.accounts) for person in people], [2, 0])
        ada.name = "changed"
        session.flush()
        session.rollback()
        check(ada.name, "Ada")
        session.add(Person(name="Blaise"))
        try:
            session.flush()
            raise AssertionError("there are two of one name")
        except exc.IntegrityError as error:
            check(error.orig.sqlstate, "23505")
        session.rollback()
        session.add(Account(owner_id=99, amount=Decimal("1")))
        try:
            session.flush()
            raise AssertionError("an account of nobody")
        except exc.IntegrityError as error:
            check(error.orig.sqlstate, "23503")
        session.rollback()
        with session.begin_nested():
            session.add_all(Person(name=f"person {number}") for number in range(500))
        check(session.scalar(select(func.count()).select_from(Person)), 502)
        session.delete(ada)
        session.commit()
        check(session.scalar(select(func.count()).select_from(Account)), 0)


def main():
    engine = create_engine(sys.argv[1])
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    # What is there already is not made again.
    statements = []
    event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    Base.metadata.create_all(engine)
    check([sql for sql in statements if "CREATE" in sql], [])
    orm(engine)
    inspector = inspect(engine)
    check(sorted(inspector.get_table_names()), ["account", "person"])
    check((inspector.has_table("person"), inspector.has_table("nobody")), (True, False))
    check(inspector.get_schema_names(), ["information_schema", "public"])
    serializable = engine.execution_options(isolation_level="SERIALIZABLE")
    with Session(serializable) as session:
        check(session.connection().get_isolation_level(), "SERIALIZABLE")
    Base.metadata.drop_all(engine)
    check(inspect(engine).get_table_names(), [])
    print("ok")


main()
