#!/usr/bin/env bash
# The native YCSB runs by which speed is judged, all engines in one go so that the figures can be compared.
#
#   bench/ycsb.sh [--seconds N] [--threads N] [--engine A,B,...] [--out DIR]
#
# Needs target/release/hotrow (cargo build --release) and, for the ten million records, some 4 GiB of memory.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=5 threads=2 engines=bare,none,2pl-waitdie,2pl-waitfor,2pl-dreadlocks,2pl-timeout,hier,sli,2pl-ordered,2pl-ordered-split,serial out=out/ycsb
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2 ;;
    --threads) threads=$2 ;;
    --engine) engines=$2 ;;
    --out) out=$2 ;;
    *) echo "unknown option $1: expected --seconds, --threads, --engine or --out" >&2; exit 2 ;;
  esac
  shift 2
done
mkdir -p "$out"

# run NAME ENGINES OPTION...
run() {
  local name=$1 chosen=$2
  shift 2
  echo "== $name: $*"
  target/release/hotrow bench ycsb --engine "$chosen" --threads "$threads" --ops 10 --read-ratio 0.5 --value-bytes 100 \
    --seconds "$seconds" --json "$out/$name.json" "$@"
}

run 1m-zipf "$engines" --records 1000000 --theta 0.9
run 1m-uniform "$engines" --records 1000000 --theta 0
run 10m-uniform "$engines" --records 10000000 --theta 0
run 10m-uniform-one-by-one bare,none --records 10000000 --theta 0 --no-batch
