"""Notifications with psycopg 3. The server's address comes from libpq's environment variables."""

import threading

import psycopg


def check(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


def main():
    with psycopg.connect(autocommit=True) as hearer, psycopg.connect() as giver:
        hearer.execute("LISTEN c")
        pid = giver.execute("SELECT pg_backend_pid()").fetchone()[0]
        check(pid, giver.info.backend_pid)

        def give():
            with giver.transaction():
                giver.execute("SELECT pg_notify(%s, %s)", ("c", "in a transaction"))
                giver.execute("NOTIFY c")
            giver.rollback()
            with giver.transaction():
                giver.execute("NOTIFY c, 'last'")

        giver.rollback()
        thread = threading.Thread(target=give)
        thread.start()
        heard = []
        for notify in hearer.notifies():
            heard.append((notify.pid, notify.channel, notify.payload))
            if notify.payload == "last":
                break
        thread.join()
        check(heard, [(pid, "c", payload) for payload in ("in a transaction", "", "last")])
        # A handler is called during other statements.
        called = []
        hearer.add_notify_handler(called.append)
        hearer.execute("NOTIFY c, 'own'")
        check([notify.payload for notify in called], ["own"])
    print("ok")


main()
