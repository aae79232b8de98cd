"""Django's JSONField over psycopg 3: what it stores, and its lookups. The server's port is the argument."""

import sys

import django
from django.conf import settings

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "postgres",
            "USER": "postgres",
            "HOST": "127.0.0.1",
            "PORT": sys.argv[1],
        }
    },
    INSTALLED_APPS=["django.contrib.postgres"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
)
django.setup()

from django.contrib.postgres.aggregates import ArrayAgg, JSONBAgg
from django.contrib.postgres.indexes import GinIndex
from django.db import connection, models
from django.db.models import Count, F, JSONField, Max, Q, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.db.utils import DataError, NotSupportedError


class Dog(models.Model):
    name = models.CharField(max_length=30)
    data = models.JSONField(null=True)
    traits = models.JSONField(default=dict)

    class Meta:
        app_label = "dogs"


ROWS = [
    ("Rufus", {"breed": "labrador", "owner": {"name": "Bob", "other_pets": [{"name": "Fishy"}]}, "age": 3, "a": None}),
    ("Meg", {"breed": "collie", "owner": None, "age": 12.5}),
    ("Fred", {"toys": ["ball", "bone"], "good": True}),
    ("Rex", ["sit", {"k": "v"}, 7]),
    ("None", None),
]


def check(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def names(*conditions, **lookups):
    found = Dog.objects.filter(*conditions, **lookups).order_by("id")
    return list(found.values_list("name", flat=True))


def lookups():
    check([(dog.name, dog.data) for dog in Dog.objects.order_by("id")], ROWS)
    cases = [
        ({"data__breed": "collie"}, ["Meg"]),
        ({"data__owner__name": "Bob"}, ["Rufus"]),
        ({"data__owner__other_pets__0__name": "Fishy"}, ["Rufus"]),
        ({"data__owner": None}, ["Meg"]),
        ({"data__a__isnull": True}, ["Meg", "Fred", "Rex", "None"]),
        ({"data__a__isnull": False}, ["Rufus"]),
        ({"data__isnull": True}, ["None"]),
        ({"data__contains": {"breed": "labrador"}}, ["Rufus"]),
        ({"data__contains": {"owner": {"name": "Bob"}}}, ["Rufus"]),
        ({"data__contained_by": {"breed": "collie", "owner": None, "age": 12.5, "more": 1}}, ["Meg"]),
        ({"data__has_key": "owner"}, ["Rufus", "Meg"]),
        ({"data__owner__has_key": "name"}, ["Rufus"]),
        ({"data__has_keys": ["breed", "age"]}, ["Rufus", "Meg"]),
        ({"data__has_any_keys": ["toys", "age"]}, ["Rufus", "Meg", "Fred"]),
        ({"data__toys__contains": "bone"}, ["Fred"]),
        ({"data__toys__1": "bone"}, ["Fred"]),
        ({"data__1__k": "v"}, ["Rex"]),
        ({"data__0": "sit"}, ["Rex"]),
        ({"data": ROWS[3][1]}, ["Rex"]),
        ({"data__age__gt": 5}, ["Meg"]),
        ({"data__age__in": [3, 4]}, ["Rufus"]),
        ({"data__good": True}, ["Fred"]),
        ({"data__breed__startswith": "lab"}, ["Rufus"]),
        ({"data__breed__icontains": "COLL"}, ["Meg"]),
        ({"data__breed__iexact": "Collie"}, ["Meg"]),
        ({"data__breed__regex": "^c.*e$"}, ["Meg"]),
    ]
    for lookup, expected in cases:
        assert names(**lookup) == expected, f"{lookup}: {names(**lookup)!r} is not {expected!r}"
    check(names(~Q(data__has_key="breed"), data__isnull=False), ["Fred", "Rex"])
    check(list(Dog.objects.filter(data__age__isnull=False).order_by("data__age").values_list("data__age", flat=True)), [3, 12.5])
    check(list(Dog.objects.values_list("data__owner__name", flat=True).order_by("id")), ["Bob", None, None, None, None])


def expressions():
    breeds = Dog.objects.annotate(breed=KT("data__breed")).exclude(breed=None).order_by("breed")
    check([dog.breed for dog in breeds], ["collie", "labrador"])
    check(Dog.objects.annotate(age=Cast(KT("data__age"), models.FloatField())).aggregate(oldest=Max("age")), {"oldest": 12.5})
    counted = Dog.objects.values("data__breed").annotate(count=Count("id")).order_by("-count", "data__breed")
    check(list(counted)[0], {"data__breed": None, "count": 3})
    agg = Dog.objects.filter(data__has_key="age").aggregate(all=JSONBAgg("data__age", ordering="id"), names=ArrayAgg("name", ordering="id"))
    check(agg, {"all": [3, 12.5], "names": ["Rufus", "Meg"]})
    check(Dog.objects.filter(data=Value(None, JSONField())).count(), 0)
    Dog.objects.filter(name="Fred").update(data=F("traits"))
    check(Dog.objects.get(name="Fred").data, {})
    dog = Dog.objects.get(name="Fred")
    dog.data = {"é": "\u2603 \" \\ \n", "big": 12345678901234567890123, "nested": [[], {}, None]}
    dog.save()
    check(Dog.objects.get(name="Fred").data, dog.data)
    check(Dog.objects.values("data").distinct().count(), 5)
    Dog.objects.bulk_create(Dog(name=f"dog {number}", data={"n": number}) for number in range(100))
    check(Dog.objects.filter(data__n__gte=90).count(), 10)
    check(Dog.objects.filter(data__n__lt=5).delete()[0], 5)
    try:
        Dog.objects.create(name="zero", data="\0")
        raise AssertionError("a zero byte was stored")
    except DataError as error:
        check(error.__cause__.sqlstate, "22P05")


def main():
    with connection.schema_editor() as editor:
        editor.create_model(Dog)
    Dog.objects.bulk_create(Dog(name=name, data=data) for name, data in ROWS)
    described = connection.introspection.get_table_description(connection.cursor(), "dogs_dog")
    check([connection.introspection.get_field_type(column.type_code, column) for column in described][2:], ["JSONField", "JSONField"])
    lookups()
    expressions()
    try:
        with connection.schema_editor() as editor:
            editor.add_index(Dog, GinIndex(fields=["data"], name="dog_data"))
        raise AssertionError("there is an index of this method")
    except NotSupportedError as error:
        check(error.__cause__.sqlstate, "0A000")
    print("ok")


main()
