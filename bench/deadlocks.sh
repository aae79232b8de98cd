#!/usr/bin/env bash
# Three mixes of transactions that deadlock, at serializable, over the wire, for each of several engines in turn: transactions a second, what
# clients had to try again, and the longest statement, which no deadlock makes long. pgbench's clients try again what failed.
# The sums are checked after each run. Exit code 1 if a check failed.
#
#   bench/deadlocks.sh [--quick] [--engines NAME,NAME…] [--clients N] [--seconds N] [--repetitions N] [--port N] [--url URL]
#
#   range      count the rows of an index range and insert into it
#   update     read a row, then update it; Zipf over 10,000 rows, theta 0.9
#   opposite   update two rows, half of the transactions in the one order and half in the other
#
# With --url, of a PostgreSQL server, that one is measured too. Needs pgbench, and target/release/hotrow (cargo build --release) or HOTROW.
set -euo pipefail
cd "$(dirname "$0")/.."

engines=ilock,2pl-waitfor clients=8 seconds=5 repetitions=3 port=5482 url=
while [ $# -gt 0 ]; do
  case $1 in
    --quick) seconds=1 repetitions=1 ;;
    --engines) engines=$2; shift ;;
    --clients) clients=$2; shift ;;
    --seconds) seconds=$2; shift ;;
    --repetitions) repetitions=$2; shift ;;
    --port) port=$2; shift ;;
    --url) url=$2; shift ;;
    *)
      echo "unknown option $1: expected --quick, --engines, --clients, --seconds, --repetitions, --port or --url" >&2
      exit 2
      ;;
  esac
  shift
done

hotrow=${HOTROW:-target/release/hotrow}
[ -x "$hotrow" ] || { echo "$hotrow is missing: cargo build --release" >&2; exit 1; }
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1 || true)
pgbench=${bin:+$bin/}pgbench psql=${bin:+$bin/}psql

scratch=$(mktemp -d)
server_pid=
stop() {
  [ -z "$server_pid" ] || { kill "$server_pid" && wait "$server_pid"; } 2>/dev/null || true
  server_pid=
}
trap 'stop; rm -rf "$scratch"' EXIT

cat >"$scratch/range.sql" <<'SQL'
\set group random(1, 8)
BEGIN;
SELECT count(*) FROM entries WHERE bucket = :group AND at > 90;
INSERT INTO entries (bucket, at) VALUES (:group, 100);
COMMIT;
SQL
# pgbench's own Zipf has a theta above 1: this inverts the integral of the distribution.
cat >"$scratch/update.sql" <<'SQL'
\set id int(pow(1 + random(0, 999999) / 1000000.0 * (pow(10000, 0.1) - 1), 10))
BEGIN;
SELECT n FROM counters WHERE id = :id;
UPDATE counters SET n = n + 1 WHERE id = :id;
COMMIT;
SQL
cat >"$scratch/opposite.sql" <<'SQL'
\set turn random(0, 1)
\set one 1 + :turn
\set other 2 - :turn
BEGIN;
UPDATE counters SET n = n + 1 WHERE id = :one;
UPDATE counters SET n = n + 1 WHERE id = :other;
COMMIT;
SQL
tables() {
  "$psql" -X -q "$1" -v ON_ERROR_STOP=1 >/dev/null <<'SQL'
SET client_min_messages = error;
DROP TABLE IF EXISTS entries, counters;
CREATE TABLE entries (id bigserial PRIMARY KEY, bucket int NOT NULL, at int NOT NULL);
CREATE INDEX entries_bucket ON entries (bucket, at);
CREATE TABLE counters (id int PRIMARY KEY, n int NOT NULL);
INSERT INTO entries (bucket, at) SELECT bucket, at FROM generate_series(1, 8) bucket, generate_series(1, 95) at;
INSERT INTO counters SELECT id, 0 FROM generate_series(1, 10000) id;
SQL
}

failed=0
# measure NAME URL MIX: one run and its line.
measure() {
  local name=$1 url=$2 mix=$3 log=$scratch/$3.log
  tables "$url"
  rm -f "$scratch"/trace.*
  PGOPTIONS='-c default_transaction_isolation=serializable' "$pgbench" -n -M prepared -c "$clients" -j 2 -T "$seconds" \
    --max-tries=0 -l --log-prefix="$scratch/trace" -f "$scratch/$mix.sql" "$url" >"$log" 2>&1 || { cat "$log" >&2; failed=1; return; }
  local done tps retries longest sum
  done=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$log")
  tps=$(sed -n 's/^tps = \([0-9]*\).*/\1/p' "$log")
  retries=$(sed -n 's/^total number of retries: \([0-9]*\).*/\1/p' "$log")
  longest=$(cat "$scratch"/trace.* | awk '$3 > max { max = $3 } END { printf "%.1f", max / 1000 }')
  case $mix in
    range) sum=$("$psql" -X -At "$url" -c 'SELECT count(*) - 8 * 95 FROM entries') ;;
    update) sum=$("$psql" -X -At "$url" -c 'SELECT sum(n) FROM counters') ;;
    opposite) sum=$("$psql" -X -At "$url" -c 'SELECT sum(n) / 2 FROM counters') ;;
  esac
  [ "$sum" = "$done" ] || { echo "FAILED: $name, $mix: $sum in the tables, $done committed"; failed=1; }
  printf '%-10s %-14s %12s %12s %20s\n' "$mix" "$name" "$tps" "$retries" "$longest"
}

printf '%-10s %-14s %12s %12s %20s\n' mix engine txn/s retries 'longest txn, ms'
for repetition in $(seq "$repetitions"); do
  for mix in range update opposite; do
    for engine in ${engines//,/ }; do
      "$hotrow" serve --in-memory --engine "$engine" --listen "127.0.0.1:$port" >"$scratch/server.log" 2>&1 &
      server_pid=$!
      own="host=127.0.0.1 port=$port user=postgres dbname=postgres"
      tries=0
      until "$psql" -X -q -c 'SELECT 1' "$own" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -le 50 ] || { cat "$scratch/server.log" >&2; exit 1; }
        sleep 0.1
      done
      measure "$engine" "$own" "$mix"
      stop
    done
    [ -z "$url" ] || measure PostgreSQL "$url" "$mix"
  done
done
exit $failed
