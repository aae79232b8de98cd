#!/usr/bin/env bash
# Builds hotrow-sim and runs it: benchmarks on simulated machines, in their time (docs/simulation.md).
#
#   bench/sim.sh bench ycsb --machine orthrus --cores 80 --engine 2pl-waitdie,orthrus
#   bench/sim.sh machines
#
# The compiler inserts a call before each basic block, plain load and plain store of the crates. The target is named so
# that build scripts and macros, which run on this machine, are built without.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(rustc -vV | sed -n 's/^host: //p')
flags="--cfg machine -Cpasses=sancov-module"
for option in level=3 trace-pc-guard trace-loads trace-stores; do
  flags+=" -Cllvm-args=-sanitizer-coverage-$option"
done
RUSTFLAGS=$flags RUSTC_WRAPPER="$PWD/bench/sim-rustc.sh" CARGO_PROFILE_RELEASE_LTO=off \
  CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 \
  cargo build --release --package hotrow-sim --target "$target" --target-dir target/sim --locked --quiet
exec "target/sim/$target/release/hotrow-sim" "$@"
