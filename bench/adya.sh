#!/usr/bin/env bash
# The crate adya against a Hotrow server: a checker that is not ours runs list-append transactions over the wire, and judges
# from what its clients saw whether they were serializable. Exit code 1 if an engine's history is not valid, or fewer of its
# transactions committed than they should.
#
# Engines with versions run at REPEATABLE READ, too, which is snapshot isolation there as it is in PostgreSQL: the history must be valid
# for a snapshot, with nothing torn, and must not be serializable, for write skew.
#
# Engines that let transactions be optimistic or pessimistic run with both mixed, too.
#
# Then the other way round: transactions at read committed are not serializable, and both adya and `hotrow check` must say so.
#
#   bench/adya.sh [--engine NAME,…] [--snapshot NAME,…] [--mixed NAME,…] [--txns N] [--seed N] [--least-committed PERCENT]
#                 [--port N] [--deadlock-timeout TIME]
#
# It starts target/release/hotrow (cargo build --release) once for each engine, and installs adya below target/ if it is not
# there. What the clients did is kept in target/adya/.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.1.0
engines=2pl-waitdie,2pl-waitfor,2pl-timeout,hier,sli,mvo,mvl snapshots=mvo,mvl mixed=mvo
txns=2000 seed=0 least=60 port=5463 deadlock_timeout=20ms
while [ $# -gt 0 ]; do
  case $1 in
    --engine) engines=$2; shift ;;
    --snapshot) snapshots=$2; shift ;;
    --mixed) mixed=$2; shift ;;
    --txns) txns=$2; shift ;;
    --seed) seed=$2; shift ;;
    --least-committed) least=$2; shift ;;
    --port) port=$2; shift ;;
    --deadlock-timeout) deadlock_timeout=$2; shift ;;
    *)
      echo "unknown option $1: expected --engine, --snapshot, --mixed, --txns, --seed, --least-committed, --port or --deadlock-timeout" >&2
      exit 2
      ;;
  esac
  shift
done

# HOTROW and ADYA name programs to use in place of these.
hotrow=${HOTROW:-target/release/hotrow}
adya=${ADYA:-target/adya/bin/adya}
out=target/adya
mkdir -p "$out"
[ -x "$hotrow" ] || { echo "$hotrow is missing: cargo build --release" >&2; exit 1; }
if [ ! -x "$adya" ]; then
  echo "installing adya $version into $out"
  cargo install --quiet adya --version "=$version" --locked --no-default-features --features postgres \
    --root "$out" --target-dir "$out/build"
fi

server_pid=
stop_server() {
  [ -z "$server_pid" ] || { kill "$server_pid" && wait "$server_pid"; } 2>/dev/null || true
  server_pid=
}
trap stop_server EXIT

start_server() {
  "$hotrow" serve --in-memory --listen "127.0.0.1:$port" --engine "$1" >"$out/server.log" 2>&1 &
  server_pid=$!
  local tries=0
  until grep -q 'listens on' "$out/server.log"; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ] || ! kill -0 "$server_pid" 2>/dev/null; then
      cat "$out/server.log" >&2
      exit 1
    fi
    sleep 0.1
  done
}

failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# The verdict in adya's output: true, false or unknown.
verdict_in() { sed -nE 's/^.*\.jsonl\t([a-z]+).*$/\1/p' "$1" | tail -1; }

# run ENGINE LEVEL MODEL [CONCURRENCY]: runs adya at the level, has the history judged by the model, and sets verdict, ok and failed.
run() {
  local name="$out/$1-$2" code=0
  # An engine that has nothing but time to tell a deadlock by should not take the usual second.
  local options="-c%20deadlock_timeout%3D$deadlock_timeout"
  [ -z "${4:-}" ] || { options+="%20-c%20hotrow.concurrency%3D$4"; name+="-$4"; }
  local url="postgres://postgres@127.0.0.1:$port/postgres?options=$options"
  timeout 600 "$adya" run postgres --url "$url" -i "$2" -c "$3" -n "$txns" --seed "$seed" \
    -o "$name.jsonl" >"$name.log" 2>&1 || code=$?
  verdict=$(verdict_in "$name.log")
  ok=$(sed -nE 's/^([0-9]+) ok, .*/\1/p' "$name.log") failed=$(sed -nE 's/.* ok, ([0-9]+) failed.*/\1/p' "$name.log")
  if [ -z "$verdict" ] || [ -z "$ok" ] || [ -z "$failed" ]; then
    fail "adya on $1 at $2, exit code $code:"
    tail -5 "$name.log"
    verdict=none ok=0 failed=1
  fi
}

row() { printf '%-16s %-16s %-10s %10s %10s %6s\n' "$@"; }

# judge ENGINE [CONCURRENCY]: whether the engine is serializable, and not because it aborts everybody.
judge() {
  local what="$1${2:+ $2}" log="$out/$1-serializable${2:+-$2}.log" wanted=$least
  # Where the first writer wins, nobody waits for a list that another one writes.
  [[ ",$snapshots," != *",$1,"* ]] || wanted=$((least / 2))
  run "$1" serializable serializable "${2:-}"
  share=$((100 * ok / (ok + failed)))
  row "$what" serializable "$verdict" "$ok" "$failed" "$share%"
  [ "$verdict" = true ] || { fail "$what at serializable is not valid"; tail -20 "$log"; }
  [ "$share" -ge "$wanted" ] || fail "$what committed $share%, less than $wanted%"
}

row engine isolation verdict committed aborted share
for engine in ${engines//,/ }; do
  start_server "$engine"
  judge "$engine"
  [[ ",$mixed," != *",$engine,"* ]] || judge "$engine" mixed
  if [[ ",$snapshots," = *",$engine,"* ]]; then
    run "$engine" repeatable-read snapshot-isolation
    row "$engine" repeatable-read "$verdict" "$ok" "$failed" "$((100 * ok / (ok + failed)))%"
    name="$out/$engine-repeatable-read"
    [ "$verdict" = true ] || { fail "$engine at repeatable read is not a snapshot"; tail -20 "$name.log"; }
    "$adya" check -c serializable "$name.jsonl" >"$name-serializable.log" 2>&1 || true
    [ "$(verdict_in "$name-serializable.log")" = false ] ||
      { fail "adya takes $engine at repeatable read for serializable"; tail -5 "$name-serializable.log"; }
  fi
  stop_server
done

# What is not serializable is found by both.
engine=${engines%%,*}
start_server "$engine"
run "$engine" read-committed serializable
row "$engine" read-committed "$verdict" "$ok" "$failed" "$((100 * ok / (ok + failed)))%"
[ "$verdict" = false ] || fail "adya takes $engine at read committed for serializable"
stop_server
ours="$out/$engine-read-committed.history"
"$hotrow" check --engine "$engine" --isolation read-committed --workload registers --save "$ours" >"$out/check.log" ||
  { fail "hotrow check says that $engine does not keep read committed"; cat "$out/check.log"; }
code=0
"$hotrow" check "$ours" --isolation serializable >"$out/check.log" 2>&1 || code=$?
if [ $code = 1 ] && grep -q 'NOT ISOLATED' "$out/check.log"; then
  echo "hotrow check agrees: at read committed, $engine is not serializable ($(sed -n 3p "$out/check.log" | sed 's/^ *//; s/:$//'))"
else
  fail "hotrow check takes $engine at read committed for serializable (exit code $code)"
  cat "$out/check.log"
fi

[ $failures = 0 ] && echo "all checks passed"
exit $((failures > 0))
