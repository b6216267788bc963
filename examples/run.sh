#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs the first two examples: a fused expression, and a model that reads a digit. On the GPU if
# there is one, otherwise on Mesa's software driver.
#
#   examples/run.sh              the first two
#   examples/run.sh NAME...      these, by their number or a part of their name; `all` for every one
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

tools/deps
mkdir -p build
generator=()
! command -v ninja > /dev/null || generator=(-G Ninja)
cmake -S . -B build/examples "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
  -DPUMICE_BUILD_TESTS=OFF -DPUMICE_BUILD_BENCH=OFF > build/examples.log || { cat build/examples.log; exit 1; }

[[ $# -gt 0 ]] || set -- 01_ 02_
[[ $1 != all ]] || set -- ''
programs=()
for source in examples/[0-9]*.cpp; do
  for name; do
    [[ $source == *"$name"* ]] || continue
    programs+=("example_$(basename "$source" .cpp)")
    break
  done
done
[[ ${#programs[@]} -gt 0 ]] || { echo "examples/run.sh: no example is called $*" >&2; exit 1; }
echo "building ${programs[*]}: some minutes the first time"
cmake --build build/examples -j "$(nproc)" --target "${programs[@]}"

on=tools/on-software-driver
if why=$(tools/on-gpu true 2>&1); then
  on=tools/on-gpu
else
  echo "$why; so on Mesa's software driver"
fi

for program in "${programs[@]}"; do
  printf '\n=== %s\n' "examples/${program#example_}.cpp"
  $on "build/examples/$program"
done
