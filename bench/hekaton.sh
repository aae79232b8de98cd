#!/usr/bin/env bash
# The runs by which the engines of the Hekaton paper are judged: against each other, at each isolation level, beside a long
# reader, and on YCSB.
#
#   bench/hekaton.sh [--seconds N] [--repetitions N] [--threads N] [--rows N] [--out DIR]
#
# Needs target/release/hotrow (cargo build --release) and, for the ten million rows, some 2 GiB of memory.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=2 repetitions=5 threads=2 rows=10000000 out=out/hekaton
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2 ;;
    --repetitions) repetitions=$2 ;;
    --threads) threads=$2 ;;
    --rows) rows=$2 ;;
    --out) out=$2 ;;
    *) echo "unknown option $1: expected --seconds, --repetitions, --threads, --rows or --out" >&2; exit 2 ;;
  esac
  shift 2
done
mkdir -p "$out"

# run NAME WORKLOAD OPTION...
run() {
  local name=$1
  shift
  echo "== $name: $*"
  target/release/hotrow bench "$@" --threads "$threads" --seconds "$seconds" --repetitions "$repetitions" --json "$out/$name.json"
}

short=(hekaton --rows "$rows" --reads 10 --writes 2)
run read-committed "${short[@]}" --engine none,1v,mvo,mvl --isolation read-committed --memory
run serializable "${short[@]}" --engine 1v,mvo,mvl --isolation serializable
run long-reader "${short[@]}" --engine 1v,mvo,mvl --isolation read-committed --long-readers 1

ycsb=(ycsb --engine bare,none,1v,mvo,mvl --records 1000000 --ops 10 --read-ratio 0.5 --value-bytes 100)
run ycsb-uniform "${ycsb[@]}" --theta 0
run ycsb-zipf "${ycsb[@]}" --theta 0.9
