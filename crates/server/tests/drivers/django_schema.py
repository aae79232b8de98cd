"""Django's look at a schema, and migrations that look things up in it: each answer is what Django finds on PostgreSQL 15. The server's port is the argument."""

import io
import sys

import django
from django.conf import settings

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": sys.argv[2] if len(sys.argv) > 2 else "postgres",
            "USER": "postgres",
            "HOST": "127.0.0.1",
            "PORT": sys.argv[1],
        }
    },
    INSTALLED_APPS=[],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.core.management import call_command
from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState

CONDITION = "condition" if django.VERSION >= (5, 1) else "check"

OPERATIONS = [
    migrations.CreateModel(
        "Author",
        [
            ("id", models.BigAutoField(primary_key=True)),
            ("name", models.CharField(max_length=20)),
            ("age", models.IntegerField(null=True)),
            ("slug", models.SlugField(unique=True, max_length=20)),
        ],
    ),
    migrations.CreateModel(
        "Book",
        [
            ("id", models.AutoField(primary_key=True)),
            ("title", models.CharField(max_length=50, db_index=True)),
            ("author", models.ForeignKey("app.Author", on_delete=models.CASCADE)),
            ("pages", models.IntegerField(default=1)),
        ],
        {"unique_together": {("title", "author")}, "indexes": [models.Index(fields=["pages"], name="book_pages")]},
    ),
    migrations.AddConstraint(
        "Book", models.CheckConstraint(**{CONDITION: models.Q(pages__gte=0)}, name="pages_are_counted")
    ),
    migrations.AddConstraint("Book", models.UniqueConstraint(fields=["title", "pages"], name="title_and_pages")),
    migrations.AddField("Author", "email", models.EmailField(default="", max_length=40)),
    migrations.AlterField("Author", "name", models.CharField(max_length=40, db_index=True)),
    migrations.AlterField("Author", "age", models.BigIntegerField(default=3)),
    migrations.AlterField("Author", "slug", models.SlugField(max_length=30)),
    migrations.AlterField("Book", "title", models.TextField()),
    migrations.AddIndex("Author", models.Index(fields=["age", "name"], name="author_both")),
    migrations.RenameIndex("Author", "author_two", old_name="author_both"),
    migrations.RemoveConstraint("Book", "title_and_pages"),
    migrations.AlterUniqueTogether("Book", set()),
    migrations.RenameField("Author", "age", "years"),
    migrations.AlterField("Book", "author", models.ForeignKey("app.Author", on_delete=models.SET_NULL, null=True)),
    migrations.AlterField("Author", "id", models.AutoField(primary_key=True)),
    migrations.RenameModel("Author", "Writer"),
    migrations.AlterModelTable("Book", "books"),
    migrations.RemoveField("Writer", "email"),
]


BOOKS = [
    ("author_id", "foreign_key"),
    ("author_id", "index"),
    ("id", "primary_key", "unique"),
    ("pages", "check"),
    ("pages", "index"),
]
# An index that LIKE can use is one more.
WRITERS = [
    ("id", "primary_key", "unique"),
    ("name", "index"),
    ("name", "index"),
    ("slug", "index"),
    ("slug", "index"),
    ("years,name", "index"),
]
COLUMNS = (
    [
        ("id", 23, 4, False, None, True),
        ("title", 25, None, False, None, False),
        ("author_id", 23, 4, True, None, False),
        ("pages", 23, 4, False, None, False),
    ],
    ["id"],
    {"author_id": ("id", "app_writer")},
)
MODELS = [
    "class AppWriter(models.Model):",
    "name = models.CharField(max_length=40)",
    "years = models.BigIntegerField()",
    "slug = models.CharField(max_length=30)",
    "db_table = 'app_writer'",
    "class Books(models.Model):",
    "title = models.TextField()",
    "author = models.ForeignKey(AppWriter, models.DO_NOTHING, blank=True, null=True)",
    "pages = models.IntegerField()",
]


def check(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def constraints(table):
    """What there is on columns, in words. Of names some have a digest in them."""
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, table).values()
    kinds = ("primary_key", "unique", "foreign_key", "check", "index")
    return sorted((",".join(one["columns"]), *(kind for kind in kinds if one[kind])) for one in found)


def columns(table):
    with connection.cursor() as cursor:
        found = connection.introspection.get_table_description(cursor, table)
        sequences = connection.introspection.get_sequences(cursor, table)
        relations = connection.introspection.get_relations(cursor, table)
    shown = [(one.name, one.type_code, one.internal_size, one.null_ok, one.default, one.is_autofield) for one in found]
    return shown, [one["column"] for one in sequences], relations


def migrate():
    state, done = ProjectState(), []
    for operation in OPERATIONS:
        after = state.clone()
        operation.state_forwards("app", after)
        with connection.schema_editor() as editor:
            operation.database_forwards("app", editor, state, after)
        done.append((operation, state, after))
        state = after
    return done


def back(done):
    for operation, before, after in reversed(done):
        with connection.schema_editor() as editor:
            operation.database_backwards("app", editor, after, before)


def main():
    done = migrate()
    check(sorted(connection.introspection.table_names()), ["app_writer", "books"])
    check(constraints("books"), BOOKS)
    check(constraints("app_writer"), WRITERS)
    check(columns("books"), COLUMNS)
    models_found = io.StringIO()
    call_command("inspectdb", stdout=models_found)
    lines = [line.strip() for line in models_found.getvalue().splitlines()]
    check([line for line in MODELS if line not in lines], [])
    back(done)
    check(connection.introspection.table_names(), [])
    print("ok")


if __name__ == "__main__":
    main()
