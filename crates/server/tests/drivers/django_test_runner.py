"""Django's test runner, which makes a database for the tests and drops it. The server's port is the argument."""

import sys
import unittest

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
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test import TestCase, TransactionTestCase
from django.test.runner import DiscoverRunner


def databases():
    with connection.cursor() as cursor:
        cursor.execute("select datname from pg_database order by 1")
        return [name for (name,) in cursor.fetchall()]


class InATransaction(TestCase):
    """Each test is a transaction, which is rolled back."""

    @classmethod
    def setUpTestData(cls):
        Group.objects.create(name="of the class")

    def test_one(self):
        Group.objects.create(name="mine")
        self.assertEqual(Group.objects.count(), 2)

    def test_other(self):
        Group.objects.create(name="mine")
        self.assertEqual(Group.objects.count(), 2)
        self.assertEqual(databases(), ["postgres", "test_postgres"])

    def test_number_of_queries(self):
        with self.assertNumQueries(1):
            list(Group.objects.all())


class Truncated(TransactionTestCase):
    """The tables are emptied after each test, and sequences begin anew before it."""

    reset_sequences = True

    def test_one(self):
        self.assertEqual(Group.objects.create(name="first").id, 1)
        with transaction.atomic():
            Group.objects.select_for_update().get().delete()

    def test_other(self):
        self.assertEqual(Group.objects.create(name="first").id, 1)


def main():
    runner = DiscoverRunner(verbosity=0, interactive=False)
    suite = runner.test_suite()
    for tests in (InATransaction, Truncated):
        suite.addTests(runner.test_loader.loadTestsFromTestCase(tests))
    runner.setup_test_environment()
    old = runner.setup_databases()
    result = unittest.TestResult()
    suite.run(result)
    runner.teardown_databases(old)
    runner.teardown_test_environment()
    assert result.wasSuccessful() and result.testsRun == 5, result.errors + result.failures
    assert databases() == ["postgres"], databases()


main()
print("ok")
