#!/usr/bin/env bash
# Compiles a crate for bench/sim.sh. hotrow-sync is the simulated machine itself, so its code is not counted.
set -euo pipefail

compile=()
for argument in "$@"; do
  [[ $argument == -Cpasses=sancov-module && " $* " == *" --crate-name hotrow_sync "* ]] || compile+=("$argument")
done
exec "${compile[@]}"
