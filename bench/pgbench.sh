#!/usr/bin/env bash
# pgbench's own workloads against a Hotrow server, over the wire: every protocol mode, read-only and TPC-B, both isolation
# levels, many clients, and a client that is killed in the middle. Prints a table and checks that TPC-B's four sums agree
# and that no lock is left. Exit code 1 if a check failed.
#
#   bench/pgbench.sh [--quick] [--engine NAME] [--scale N] [--seconds N] [--port N] [--server HOST:PORT]
#
# Without --server it starts target/release/hotrow (cargo build --release) and stops it at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

scale=10 seconds=10 port=5462 server='' engine='' clients=8 many_clients=300
while [ $# -gt 0 ]; do
  case $1 in
    --quick) scale=1 seconds=2 many_clients=50 ;;
    --engine) engine=$2; shift ;;
    --scale) scale=$2; shift ;;
    --seconds) seconds=$2; shift ;;
    --port) port=$2; shift ;;
    --server) server=$2; shift ;;
    *) echo "unknown option $1: expected --quick, --engine, --scale, --seconds, --port or --server" >&2; exit 2 ;;
  esac
  shift
done

scratch=$(mktemp -d)
server_pid=
tear_down() {
  [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true
  rm -rf "$scratch"
}
trap tear_down EXIT

if [ -n "$server" ]; then
  host=${server%:*} port=${server##*:}
else
  host=127.0.0.1
  target/release/hotrow serve --in-memory --listen "$host:$port" ${engine:+--engine "$engine"} >"$scratch/server.log" 2>&1 &
  server_pid=$!
fi
export PGHOST=$host PGPORT=$port PGUSER=postgres PGDATABASE=postgres PGCONNECT_TIMEOUT=10

sql() { timeout 60 psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

tries=0
until sql -c 'SELECT 1' >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ $tries -gt 50 ]; then
    echo "no server at $host:$port" >&2
    cat "$scratch/server.log" >&2 || true
    exit 1
  fi
  sleep 0.1
done

failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# run NAME OPTION...: one pgbench run and its row of the table.
run() {
  local name=$1 log="$scratch/run.log" tps latency count bad retried
  shift
  if ! pgbench -n -T "$seconds" "$@" >"$log" 2>&1; then
    fail "$name"
    tail -5 "$log"
    return
  fi
  field() { sed -nE "s/^$1/\\1/p" "$log" | head -1; }
  tps=$(field 'tps = ([0-9.]+).*')
  latency=$(field 'latency average = ([0-9.]+) ms.*')
  count=$(field 'number of transactions actually processed: ([0-9]+).*')
  bad=$(field 'number of failed transactions: ([0-9]+).*')
  retried=$(field 'number of transactions retried: ([0-9]+).*')
  printf '%-38s %12s %10s %10s %8s %8s\n' "$name" "$tps" "$latency" "$count" "${bad:-0}" "${retried:-}"
  [ "${bad:-0}" = 0 ] || fail "$name: $bad failed transactions"
  [ "${count:-0}" -gt 0 ] || fail "$name: no transaction was processed"
}

check_sums() {
  local sums
  sums=$(sql -c 'SELECT sum(abalance) FROM pgbench_accounts' -c 'SELECT sum(tbalance) FROM pgbench_tellers' \
    -c 'SELECT sum(bbalance) FROM pgbench_branches' -c 'SELECT sum(delta) FROM pgbench_history') || { fail "sums after $1"; return; }
  if [ "$(sort -u <<<"$sums" | wc -l)" = 1 ]; then
    echo "sums after $1 agree: $(head -1 <<<"$sums")"
  else
    fail "sums after $1 differ: $(tr '\n' ' ' <<<"$sums")"
  fi
}

# Changes every row that pgbench changes: a lock that a gone client left would make this wait, and then fail.
check_no_lock() {
  sql >/dev/null <<'SQL' || fail "a lock is left after $1"
BEGIN;
UPDATE pgbench_branches SET bbalance = bbalance;
UPDATE pgbench_tellers SET tbalance = tbalance;
UPDATE pgbench_accounts SET abalance = abalance;
ROLLBACK;
SQL
}

# Engines that keep partitions apart refuse pgbench's tables, which say no partition key (docs/sql.md): they are made here.
steps=dtgvp
if ! sql -c 'CREATE TABLE probe (id int PRIMARY KEY); DROP TABLE probe' >"$scratch/probe.log" 2>&1; then
  grep -q 'partition key' "$scratch/probe.log" || { cat "$scratch/probe.log"; fail "CREATE TABLE"; exit 1; }
  steps=gv
  sql <<'SQL' || { fail "CREATE TABLE"; exit 1; }
CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88)) PARTITION BY HASH (bid);
CREATE TABLE pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler char(84)) PARTITION BY HASH (tid);
CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84)) PARTITION BY HASH (aid);
CREATE TABLE pgbench_history (tid int, bid int NOT NULL, aid int, delta int, mtime timestamp, filler char(22))
    PARTITION BY HASH (bid);
SQL
fi
pgbench -i -q -I $steps -s "$scale" >"$scratch/init.log" 2>&1 || { cat "$scratch/init.log"; fail "pgbench -i"; exit 1; }

# An engine that keeps versions lets nobody wait for a row: of two blocks that write one, the second is for its client to run again.
tries=1
[ "$(sql -c 'BEGIN ISOLATION LEVEL SNAPSHOT' -c 'SHOW hotrow.isolation' -c COMMIT)" != snapshot ] || tries=1000

printf '%-38s %12s %10s %10s %8s %8s\n' run tps 'ms' committed failed retried
for mode in simple extended prepared; do
  run "tpcb $mode, $clients clients" -M $mode -c $clients -j 2 --max-tries $tries
done
check_sums "TPC-B at read committed"
# The same transaction as a procedure: one message instead of seven.
sql <<'SQL' || fail "CREATE PROCEDURE"
CREATE PROCEDURE tpcb(account int, branch int, teller int, delta int, OUT balance int) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pgbench_accounts SET abalance = abalance + delta WHERE aid = account RETURNING abalance INTO balance;
    UPDATE pgbench_tellers SET tbalance = tbalance + delta WHERE tid = teller;
    UPDATE pgbench_branches SET bbalance = bbalance + delta WHERE bid = branch;
    INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
        VALUES (teller, branch, account, delta, current_timestamp);
END $$;
SQL
cat >"$scratch/call.sql" <<'SQL'
\set account random(1, 100000 * :scale)
\set branch random(1, 1 * :scale)
\set teller random(1, 10 * :scale)
\set delta random(-5000, 5000)
CALL tpcb(:account, :branch, :teller, :delta, NULL);
SQL
for mode in simple extended prepared; do
  run "tpcb as CALL $mode, $clients clients" -f "$scratch/call.sql" -s "$scale" -M $mode -c $clients -j 2
done
check_sums "TPC-B as CALL"
for mode in simple extended prepared; do
  run "select $mode, $clients clients" -S -M $mode -c $clients -j 2
done
for mode in simple extended prepared; do
  PGOPTIONS='-c default_transaction_isolation=serializable' \
    run "tpcb $mode, serializable, $clients clients" -M $mode -c $clients -j 2 --max-tries 1000
done
check_sums "TPC-B at serializable"
run "tpcb prepared, $many_clients clients" -M prepared -c "$many_clients" -j 2 --max-tries 1000
run "select prepared, $many_clients clients" -S -M prepared -c "$many_clients" -j 2
check_sums "$many_clients clients"

# The client dies in the middle: its transactions roll back, its locks go, and the server goes on.
pgbench_program=$(PATH="$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)" bash -c 'type -ap pgbench | tail -1')
"$pgbench_program" -n -M prepared -c 50 -j 2 -T 60 >"$scratch/killed.log" 2>&1 &
victim=$!
sleep 2
kill -9 "$victim" 2>/dev/null || fail "pgbench was gone before it was killed: $(tail -2 "$scratch/killed.log")"
wait "$victim" 2>/dev/null || true
check_no_lock "kill -9 of pgbench"
check_sums "kill -9 of pgbench"
run "tpcb prepared after the kill" -M prepared -c $clients -j 2 --max-tries $tries
check_sums "the last run"

if [ -n "$server_pid" ] && ! kill -0 "$server_pid" 2>/dev/null; then
  cat "$scratch/server.log"
  fail "the server is gone"
fi
[ $failures = 0 ] && echo "all checks passed"
exit $((failures > 0))
