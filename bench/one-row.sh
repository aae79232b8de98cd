#!/usr/bin/env bash
# Many clients that update one row, over the wire, under each engine: how many commit in a second, how many attempts were in vain, which clients
# gave up, and how much the least and the most served client got done. A client's statement is a transaction of its own.
#
#   bench/one-row.sh [--engine NAME,…] [--clients N] [--seconds N] [--threads N] [--port N] [--isolation LEVEL] [--block]
#
# With --block the statement stands between BEGIN and COMMIT. It starts target/release/hotrow (cargo build --release; HOTROW names
# another program) once for each engine, and checks at the end that the row counts all commits. Exit code 1 if it does not.
set -euo pipefail
cd "$(dirname "$0")/.."

engines=ilock,row-nowait,lock-table,1v,2pl-waitfor,2pl-waitdie,2pl-dreadlocks,hier,sli,mvo,mvl,2pl-ordered,2pl-atomic,vll,vll-sca
clients=300 seconds=10 threads=2 port=5464 isolation='' block=
while [ $# -gt 0 ]; do
  case $1 in
    --engine) engines=$2; shift ;;
    --clients) clients=$2; shift ;;
    --seconds) seconds=$2; shift ;;
    --threads) threads=$2; shift ;;
    --port) port=$2; shift ;;
    --isolation) isolation=$2; shift ;;
    --block) block=yes ;;
    *) echo "unknown option $1: expected --engine, --clients, --seconds, --threads, --port, --isolation or --block" >&2; exit 2 ;;
  esac
  shift
done

program=${HOTROW:-target/release/hotrow}
scratch=$(mktemp -d)
server_pid=
stop() {
  [ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true
  [ -z "$server_pid" ] || wait "$server_pid" 2>/dev/null || true
  server_pid=
}
trap 'stop; rm -rf "$scratch"' EXIT

export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres PGCONNECT_TIMEOUT=10
update='UPDATE hot SET n = n + 1 WHERE id = 1;'
if [ -n "$block" ]; then update=$(printf 'BEGIN;\n%s\nCOMMIT;' "$update"); fi
echo "$update" >"$scratch/update.sql"

sql() { timeout 60 psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }

failures=0
measure() {
  local engine=$1 tries=0 log=$scratch/run.log retries counted served
  "$program" serve --in-memory --listen "127.0.0.1:$port" --engine "$engine" --metrics "127.0.0.1:$((port + 1))" \
    ${isolation:+--isolation "$isolation"} >"$scratch/server.log" 2>&1 &
  server_pid=$!
  until sql -c 'CREATE TABLE hot (id int PRIMARY KEY, n int)' -c 'INSERT INTO hot VALUES (1, 0)' >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -le 100 ] || { echo "$engine: no server" >&2; cat "$scratch/server.log" >&2; exit 1; }
    sleep 0.1
  done
  rm -f "$scratch"/log.*
  (cd "$scratch" && pgbench -n -M prepared -f update.sql -c "$clients" -j "$threads" -T "$seconds" -l --log-prefix=log) >"$log" 2>&1 || true
  retries=$(exec 3<>"/dev/tcp/127.0.0.1/$((port + 1))" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && sed -n 's/^hotrow_retries_total //p' <&3)
  served=$(cat "$scratch"/log.* | awk -v clients="$clients" -v seconds="$seconds" '
    $3 == "failed" || $3 == "serialization" || $3 == "deadlock" { failed++; next }
    { done[$1]++; all++ }
    END {
      least = all; most = 0
      for (client = 0; client < clients; client++) {
        count = done[client] + 0
        if (count < least) least = count
        if (count > most) most = count
      }
      printf "%d %d %d %d %d", all / seconds, failed, least, most, all
    }')
  read -r rate failed least most all <<<"$served"
  counted=$(sql -c 'SELECT n FROM hot WHERE id = 1')
  printf '%-16s %10s %12s %8s %8s %8s\n' "$engine" "$rate" "${retries:-?}" "$failed" "$least" "$most"
  # A client that pgbench stops may have committed without hearing of it.
  if [ "$counted" -lt "$all" ] || [ "$counted" -gt $((all + clients)) ]; then
    echo "FAILED: $engine: the row counts $counted, and $all transactions committed"
    failures=$((failures + 1))
  fi
  stop
}

printf '%-16s %10s %12s %8s %8s %8s\n' engine commits/s retries failed least most
for engine in ${engines//,/ }; do
  measure "$engine"
done
exit $((failures > 0))
