"""Django's migrations and its ORM over psycopg 3, with the models of its own applications. The server's port is the argument."""

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
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, F, Q


def check(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def queries():
    readers, writers = Group.objects.create(name="readers"), Group.objects.create(name="writers")
    ada = User.objects.create(username="ada", email="ada@example.org", is_staff=True)
    ada.groups.set([readers, writers])
    User.objects.bulk_create(User(username=f"user {number}") for number in range(200))
    check(User.objects.filter(Q(is_staff=True) | Q(username="user 7")).count(), 2)
    check(list(User.objects.filter(groups__name="readers").values_list("username", flat=True)), ["ada"])
    counted = Group.objects.annotate(members=Count("user")).order_by("name").values_list("name", "members")
    check(list(counted), [("readers", 1), ("writers", 1)])
    check([user.username for user in User.objects.order_by("id")[3:5]], ["user 2", "user 3"])
    check(User.objects.prefetch_related("groups").get(username="ada").groups.count(), 2)
    check(Permission.objects.select_related("content_type").filter(codename="add_user").get().content_type.model, "user")
    # A cursor on the server, which the iterator reads in pieces.
    check(sum(1 for _ in User.objects.order_by("id").iterator(chunk_size=30)), 201)
    check(User.objects.filter(username__startswith="user 1").update(last_name=F("username")), 111)
    try:
        with transaction.atomic():
            User.objects.filter(username="user 7").delete()
            User.objects.create(username="ada")
        raise AssertionError("there are two of one name")
    except IntegrityError as error:
        check(error.__cause__.sqlstate, "23505")
    check(User.objects.filter(username="user 7").exists(), True)
    with transaction.atomic():
        locked = User.objects.select_for_update().get(username="user 7")
        locked.first_name = "seven"
        locked.save()
        try:
            with transaction.atomic():
                Group.objects.create(name="readers")
            raise AssertionError("there are two of one name")
        except IntegrityError:
            pass
    check(User.objects.get(first_name="seven").username, "user 7")
    # Its foreign keys are checked when the transaction ends.
    try:
        with transaction.atomic():
            Permission.objects.create(name="none", codename="none", content_type_id=9999)
        raise AssertionError("a permission for nothing")
    except IntegrityError as error:
        check(error.__cause__.sqlstate, "23503")
    ada.delete()
    check(Group.objects.filter(user__username="ada").count(), 0)


def main():
    call_command("migrate", verbosity=0)
    # A second time there is nothing to do.
    call_command("migrate", verbosity=0)
    check({"auth_user", "auth_group", "django_session"} <= set(connection.introspection.table_names()), True)
    queries()
    call_command("flush", verbosity=0, interactive=False)
    check(User.objects.count(), 0)
    print("ok")


main()
