#!/usr/bin/env bash
# Hotrow beside PostgreSQL: the same machine, the same client (pgbench, prepared statements), everything in memory on
# both sides. What counts is the CPU time of the server, user and system, which a client on the same machine does not blur.
# Prints a table for each part and the ratios against what Hotrow means to keep. Exit code 1 if a line does not hold.
#
#   bench/vs-postgres.sh [--engine NAME] [--over tcp|socket] [--seconds N] [--repetitions N] [--clients N] [--out DIR]
#                        [--serve-option OPTION]...
#
#   select   pgbench -S at 32 clients: CPU µs of a statement, at most a third of PostgreSQL's
#   tpcb     TPC-B on scale 10: transactions per CPU second, at least 4 times PostgreSQL's at 8 clients and 10 times at 300;
#            and at 300 clients at most 1.5 times the CPU of a transaction that Hotrow takes itself at 8
#   hot      TPC-B on scale 1, 128 clients: transactions per second, at least 5 times PostgreSQL's
#
# The CPU time is that of the whole run, so that of connecting is part of it: runs of a few seconds say little.
#
# PostgreSQL runs with fsync and synchronous_commit off and its data on tmpfs, so that it writes to no disk either. It and
# pgbench are Debian's: apt-get install postgresql. Needs target/release/hotrow (cargo build --release) or HOTROW.
set -euo pipefail
cd "$(dirname "$0")/.."

engine='' seconds=10 repetitions=3 many=300 over=tcp out=out/vs-postgres serve_options=()
while [ $# -gt 0 ]; do
  case $1 in
    --engine) engine=$2 ;;
    --over) over=$2 ;;
    --seconds) seconds=$2 ;;
    --repetitions) repetitions=$2 ;;
    --clients) many=$2 ;;
    --out) out=$2 ;;
    --serve-option) serve_options+=("$2") ;;
    *)
      echo "unknown option $1: expected --engine, --over, --seconds, --repetitions, --clients, --out or --serve-option" >&2
      exit 2
      ;;
  esac
  shift 2
done

case $over in tcp | socket) ;; *) echo "--over $over: expected tcp or socket" >&2; exit 2 ;; esac

hotrow=${HOTROW:-target/release/hotrow}
[ -x "$hotrow" ] || { echo "$hotrow is missing: cargo build --release" >&2; exit 1; }

# Debian keeps the server's programs out of the path.
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1 || true)
if [ -z "$bin" ] || [ ! -x "$bin/initdb" ]; then
  echo "installing PostgreSQL" >&2
  if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql; } >&2; then
    echo "PostgreSQL is not here and could not be installed: this compares with it. On Debian: apt-get install postgresql" >&2
    exit 1
  fi
  bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1)
fi
pgbench=$bin/pgbench psql=$bin/psql

mkdir -p "$out"
data=$(mktemp -d /dev/shm/hotrow-vs-postgres.XXXXXX)
postgres_port=5471 hotrow_port=5472 hotrow_pid=
# initdb and postgres refuse to run as root.
as_owner() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
tear_down() {
  [ -z "$hotrow_pid" ] || { kill "$hotrow_pid" && wait "$hotrow_pid"; } 2>/dev/null || true
  [ ! -f "$data/pg/postmaster.pid" ] || as_owner "$bin/pg_ctl" -D "$data/pg" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$data"
}
trap tear_down EXIT

[ "$(id -u)" != 0 ] || chown postgres "$data"
as_owner "$bin/initdb" -D "$data/pg" -A trust -U postgres -E UTF8 --locale=C >"$out/initdb.log" 2>&1 ||
  { cat "$out/initdb.log" >&2; exit 1; }
as_owner "$bin/pg_ctl" -D "$data/pg" -w -l "$data/postgres.log" -o "-p $postgres_port -c listen_addresses=127.0.0.1 \
  -c unix_socket_directories=$data -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=1000 \
  -c shared_buffers=1GB -c max_wal_size=4GB" start >"$out/pg_ctl.log" 2>&1 ||
  { cat "$out/pg_ctl.log" "$data/postgres.log" >&2; exit 1; }
postgres_pid=$(head -1 "$data/pg/postmaster.pid")

"$hotrow" serve --in-memory --listen "127.0.0.1:$hotrow_port" --socket-dir "$data" ${engine:+--engine "$engine"} "${serve_options[@]}" >"$out/hotrow.log" 2>&1 &
hotrow_pid=$!
tries=0
until grep -q 'listens on' "$out/hotrow.log"; do
  tries=$((tries + 1))
  if [ $tries -gt 100 ] || ! kill -0 "$hotrow_pid" 2>/dev/null; then cat "$out/hotrow.log" >&2; exit 1; fi
  sleep 0.1
done
host=127.0.0.1
[ $over = tcp ] || host=$data
export PGHOST=$host PGUSER=postgres PGDATABASE=postgres PGCONNECT_TIMEOUT=30

# cpu_of PID: ticks of user and system time of a process and its children, those that are gone included.
cpu_of() {
  local pid files=()
  for pid in "$1" $(pgrep -P "$1"); do files+=("/proc/$pid/stat"); done
  { cat "${files[@]}" 2>/dev/null || true; } | sed 's/^.*) //' |
    awk '{ sum += $12 + $13; if (NR == 1) sum += $14 + $15 } END { print sum }'
}
ticks=$(getconf CLK_TCK)

median() { sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

failures=0
# run PORT PID STATEMENTS PGBENCH-OPTION...: sets tps, cpu (µs of a transaction) and failed.
run() {
  local port=$1 pid=$2 log=$out/pgbench.log before after count
  shift 2
  before=$(cpu_of "$pid")
  PGPORT=$port "$pgbench" -n -M prepared -j 2 -T "$seconds" --max-tries 1000 "$@" >"$log" 2>&1 ||
    { echo "pgbench $* at port $port failed:" >&2; tail -5 "$log" >&2; exit 1; }
  # Backends are counted by whoever waited for them, when they have ended.
  while pgrep -P "$pid" -f '^postgres: postgres ' >/dev/null; do sleep 0.05; done
  after=$(cpu_of "$pid")
  count=$(sed -nE 's/^number of transactions actually processed: ([0-9]+).*/\1/p' "$log")
  [ "${count:-0}" -gt 0 ] || { echo "pgbench $* at port $port committed nothing in $seconds s: give --seconds more" >&2; exit 1; }
  tps=$(sed -nE 's/^tps = ([0-9.]+).*/\1/p' "$log")
  cpu=$(awk -v t=$((after - before)) -v hz="$ticks" -v n="$count" 'BEGIN { printf "%.2f", t * 1e6 / hz / n }')
}

row() { printf '%-22s %8s %12s %12s %12s\n' "$@"; }

# measure NAME CLIENTS PGBENCH-OPTION...: both servers by turns; sets tps_postgres, cpu_postgres, tps_hotrow, cpu_hotrow.
measure() {
  local name=$1 clients=$2 turn server
  shift 2
  for server in postgres hotrow; do : >"$out/$server.tps"; : >"$out/$server.cpu"; done
  for ((turn = 0; turn < repetitions; turn++)); do
    run "$postgres_port" "$postgres_pid" -c "$clients" "$@"; echo "$tps" >>"$out/postgres.tps"; echo "$cpu" >>"$out/postgres.cpu"
    run "$hotrow_port" "$hotrow_pid" -c "$clients" "$@"; echo "$tps" >>"$out/hotrow.tps"; echo "$cpu" >>"$out/hotrow.cpu"
  done
  tps_postgres=$(median <"$out/postgres.tps") cpu_postgres=$(median <"$out/postgres.cpu")
  tps_hotrow=$(median <"$out/hotrow.tps") cpu_hotrow=$(median <"$out/hotrow.cpu")
  for server in postgres hotrow; do
    local tps=tps_$server cpu=cpu_$server
    row "$name $server" "$clients" "$(printf %.0f "${!tps}")" "${!cpu}" "$(awk -v c="${!cpu}" 'BEGIN { printf "%.0f", 1e6 / c }')"
  done
}

verdicts=()
# judge WHAT RATIO SIGN LINE
judge() {
  local holds
  holds=$(awk -v r="$2" -v l="$4" -v s="$3" 'BEGIN { print (s == "<=" ? r <= l : r >= l) ? "holds" : "MISSED" }')
  verdicts+=("$(printf '%-52s %8.2f  %s %-5s %s' "$1" "$2" "$3" "$4" "$holds")")
  [ "$holds" = holds ] || failures=$((failures + 1))
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }

load() {
  PGPORT=$postgres_port "$pgbench" -i -q -s "$1" >"$out/init.log" 2>&1 || { cat "$out/init.log" >&2; exit 1; }
  PGPORT=$hotrow_port "$pgbench" -i -q -s "$1" >"$out/init.log" 2>&1 || { cat "$out/init.log" >&2; exit 1; }
}

# sums_agree SERVER PORT
sums_agree() {
  local sums
  sums=$(PGPORT=$2 "$psql" -X -q -A -t -c 'SELECT sum(abalance) FROM pgbench_accounts' \
    -c 'SELECT sum(tbalance) FROM pgbench_tellers' -c 'SELECT sum(bbalance) FROM pgbench_branches' \
    -c 'SELECT coalesce(sum(delta), 0) FROM pgbench_history')
  [ "$(sort -u <<<"$sums" | wc -l)" = 1 ] || { echo "FAILED: sums of $1 differ: $(tr '\n' ' ' <<<"$sums")"; failures=$((failures + 1)); }
}

echo "$("$bin/postgres" --version); $(head -1 "$out/hotrow.log")"
echo "$(nproc) cores, over $over, $seconds s, medians of $repetitions"
row run clients tps 'cpu µs/txn' 'txn/cpu s'
load 10
measure select 32 -S
judge 'select, 32 clients: CPU of a statement' "$(ratio "$cpu_hotrow" "$cpu_postgres")" '<=' 0.333
measure tpcb 8
cpu_at_8=$cpu_hotrow
judge 'TPC-B, 8 clients: transactions per CPU second' "$(ratio "$cpu_postgres" "$cpu_hotrow")" '>=' 4
measure tpcb "$many"
judge "TPC-B, $many clients: transactions per CPU second" "$(ratio "$cpu_postgres" "$cpu_hotrow")" '>=' 10
judge "TPC-B, $many clients: our CPU over that at 8" "$(ratio "$cpu_hotrow" "$cpu_at_8")" '<=' 1.5
sums_agree PostgreSQL "$postgres_port"
sums_agree Hotrow "$hotrow_port"
load 1
measure hot 128
judge 'hot rows, 128 clients: transactions per second' "$(ratio "$tps_hotrow" "$tps_postgres")" '>=' 5
sums_agree PostgreSQL "$postgres_port"
sums_agree Hotrow "$hotrow_port"

printf '\n%-52s %8s  %-8s\n' 'Hotrow over PostgreSQL' ratio line
printf '%s\n' "${verdicts[@]}" | tee "$out/verdicts.txt"
exit $((failures > 0))
