#!/usr/bin/env bash
# What clients notice of others that take much: the p99 of short transactions alone, and beside one session that is idle in a
# block, one in a long statement, and 1,000 connections that say nothing. For each engine it measures both, in turn, several
# times, and prints the median of each and their ratio. Exit code 1 if a ratio exceeds --most or a client failed.
#
#   bench/neighbours.sh [--quick] [--engine NAME,NAME] [--seconds N] [--rounds N] [--clients N] [--port N] [--most RATIO]
#
# It starts target/release/hotrow (cargo build --release) and stops it. It needs pgbench and python3.
set -euo pipefail
cd "$(dirname "$0")/.."

engines=ilock,mvo,vll-sca seconds=5 rounds=3 clients=4 port=5472 most=2
while [ $# -gt 0 ]; do
  case $1 in
    --quick) seconds=2 rounds=1 ;;
    --engine) engines=$2; shift ;;
    --seconds) seconds=$2; shift ;;
    --rounds) rounds=$2; shift ;;
    --clients) clients=$2; shift ;;
    --port) port=$2; shift ;;
    --most) most=$2; shift ;;
    *) echo "unknown option $1: expected --quick, --engine, --seconds, --rounds, --clients, --port or --most" >&2; exit 2 ;;
  esac
  shift
done

scratch=$(mktemp -d)
pids=()
tear_down() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  rm -rf "$scratch"
}
trap tear_down EXIT
export PGHOST=127.0.0.1 PGPORT=$port PGUSER=postgres PGDATABASE=postgres PGCONNECT_TIMEOUT=10

cat >"$scratch/short.sql" <<'END'
\set id random(1, 1000)
UPDATE short SET n = n + 1 WHERE id = :id;
END

# Sits there with 1,000 connections that say nothing, one that is idle in a block, and one that runs long statements. Of the
# silent connections that the server ends, 100 a second are opened again.
cat >"$scratch/others.py" <<'END'
import selectors, socket, struct, sys, time

def connect():
    return socket.create_connection(("127.0.0.1", int(sys.argv[1])))

def session():
    client = connect()
    body = struct.pack("!i", 196608) + b"user\0postgres\0\0"
    client.sendall(struct.pack("!i", len(body) + 4) + body)
    while b"Z\0\0\0\5" not in client.recv(65536):
        pass
    return client

def send(client, sql):
    client.sendall(b"Q" + struct.pack("!i", len(sql) + 5) + sql.encode() + b"\0")

LONG = "SELECT count(*) FROM generate_series(1, 1000000000)"
SILENT, AGAIN = 1000, 100
idle, long = session(), session()
send(idle, "BEGIN; SELECT count(*) FROM idle")
send(long, LONG)
selector = selectors.DefaultSelector()
selector.register(long, selectors.EVENT_READ)
silent = 0

def fill(count):
    global silent
    for _ in range(count):
        selector.register(connect(), selectors.EVENT_READ)
        silent += 1

fill(SILENT)
print("ready", flush=True)
filled = time.monotonic()
while True:
    for key, _ in selector.select(1):
        client = key.fileobj
        said = client.recv(65536)
        if client is long:
            if b"Z\0\0\0\5" in said:
                send(long, LONG)
        elif not said:
            selector.unregister(client)
            client.close()
            silent -= 1
    if time.monotonic() - filled > 1:
        fill(min(AGAIN, SILENT - silent))
        filled = time.monotonic()
END

# p99 MICROSECONDS of a run, on standard output; everything else goes to the log.
measure() {
  rm -f "$scratch"/log.*
  pgbench -n -M prepared -c "$clients" -j 1 -T "$seconds" -f "$scratch/short.sql" --max-tries=100 \
    --log --log-prefix="$scratch/log" >>"$scratch/pgbench.out" 2>&1 || return 1
  cat "$scratch"/log.* | awk '{ print $3 }' | sort -n | awk '{ all[NR] = $1 } END { at = int(NR * 0.99); print all[at < 1 ? 1 : at] }'
}

median() { sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }

failures=0
printf '%-12s %12s %12s %7s\n' engine 'alone µs' 'beside µs' ratio
for engine in ${engines//,/ }; do
  target/release/hotrow serve --in-memory --listen "127.0.0.1:$port" --engine "$engine" >"$scratch/server.log" 2>&1 &
  server=$!
  pids=("$server")
  tries=0
  until psql -X -q -c 'SELECT 1' >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -le 50 ] || { echo "no server" >&2; cat "$scratch/server.log" >&2; exit 1; }
    sleep 0.1
  done
  psql -X -q -c 'CREATE TABLE short (id int PRIMARY KEY, n int NOT NULL); CREATE TABLE idle (id int PRIMARY KEY)' \
    -c 'INSERT INTO short SELECT g, 0 FROM generate_series(1, 1000) AS g' >/dev/null
  : >"$scratch/alone"
  : >"$scratch/beside"
  for _ in $(seq "$rounds"); do
    measure >>"$scratch/alone" || failures=$((failures + 1))
    coproc others { exec python3 "$scratch/others.py" "$port"; }
    others_pid=$!
    pids=("$server" "$others_pid")
    read -r -t 30 _ <&"${others[0]}" || { echo "the others did not come" >&2; exit 1; }
    measure >>"$scratch/beside" || failures=$((failures + 1))
    kill "$others_pid" 2>/dev/null || true
    wait "$others_pid" 2>/dev/null || true
    pids=("$server")
  done
  alone=$(median <"$scratch/alone") beside=$(median <"$scratch/beside")
  ratio=$(awk -v beside="$beside" -v alone="$alone" 'BEGIN { printf "%.2f", beside / alone }')
  printf '%-12s %12s %12s %7s\n' "$engine" "$alone" "$beside" "$ratio"
  awk -v ratio="$ratio" -v most="$most" 'BEGIN { exit !(ratio > most) }' && failures=$((failures + 1))
  kill "$server" && wait "$server" || true
  pids=()
done
if [ "$failures" -gt 0 ]; then
  tail -20 "$scratch/pgbench.out"
  echo "FAILED: $failures"
  exit 1
fi
