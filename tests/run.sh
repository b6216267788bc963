#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Pumice authors
# SPDX-License-Identifier: Apache-2.0
# The whole suite, from a bare clone to its last line, "N passed, N failed, N skipped". Needs no GPU.
#
#   tests/run.sh             everything; half an hour to an hour on 2 cores
#   tests/run.sh PART...     only those parts; --list names them
#
# Each part's log is build/logs/PART.txt. Whatever fails, or is skipped and not listed in tests/skips.txt, fails the run.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.." || exit 1
logs=build/logs
gcc=build/gcc/tests
clang=build/clang/tests
export PUMICE_CACHE_DIR=${PUMICE_CACHE_DIR:-$PWD/build/cache}
# Of what tests take samples of, this share is taken with validation, and a quarter of it with sanitizers. 1 is the full extent:
# PUMICE_TEST_SCALE=1 tests/run.sh software plain, which takes more than twice as long.
share=${PUMICE_TEST_SCALE:-0.4}

### The parts, in order; those joined by + take one processor each and run side by side. Each is a function, and counts as its
### last line "N passed, N failed, N skipped" says, or, having no such line, as one test that passes by its exit status.

parts=(set_up build
  include_direction header_budget columns mirror format docs array_api reference report embed onnx_schemas schema wrong_programs
  headers_alone cross
  front software canary plain unsanitized host tsan hostile fuzz
  vgf+processes+kills faults call_trace+add_dtype consumers+compile_cost examples+packs start)
# Asked for by name only; the limits are seconds of a machine with nothing else to do.
later=(by_gcc compile_limits start_limits)

set_up() { tools/deps --dev; }

# The test programs by clang++, what users compile by g++; all at once, so that no processor waits for one long file.
# Those by clang++ have g++'s engine, as programs of users may: without sanitizers it is compiled once.
build() {
  local first=(test_{vk,slang,device,model,threads}_sanitized test_{front,vk,slang,static} hostile_loader)
  local rest=(test_{device,model,threads} deep_loader process_{cases,plans} vgf_check fuzzers)
  make gcc pumice_engine examples pumice_runner test_{pages,user,exchange} & local gcc=$!
  make tsan test_threads & local tsan=$!
  make clang "${first[@]}"
  local made=$?
  wait $gcc && make clang "${rest[@]}" && wait $tsan && [[ $made == 0 ]] &&
    has gcc test_{pages,user,exchange} && has clang "${first[@]}" "${rest[@]}"
}

include_direction() { tests/checks/include_direction; }
header_budget()     { tests/checks/header_budget; }
columns()           { tests/checks/columns; }
mirror()            { tests/checks/mirror; }
format()            { tests/checks/format; }
docs()              { tests/checks/docs; }
array_api()         { tests/checks/array_api; }
reference()         { tests/checks/reference; }
report()            { tests/checks/report; }
embed()             { tests/checks/embed; }
onnx_schemas()      { tests/checks/onnx_schemas; }
schema()            { tests/checks/schema; }
call_trace()        { tests/call_trace/run tools/on-plain-driver; }
cross()             { tests/checks/cross; }
wrong_programs()    { tests/fail/run; }
headers_alone()     { tests/checks/headers_alone; }

front() { tests/cases "" $clang/test_front; }

# The suite "host alone", in which no driver has a part, is left to `host` and `plain`.

# With every call and barrier checked, and nothing to be said against any. Here and in `plain` the driver's optimiser takes longer
# than the kernels that it makes faster; it is at work in all the other parts. Half the time is Slang's, which walks its IR
# a seventh faster in huge pages.
software() {
  GLIBC_TUNABLES=glibc.malloc.hugetlb=1 GALLIVM_PERF=nopt VALIDATION=1 PUMICE_TEST_SCALE=$share PUMICE_TEST_RUN=software \
    without=canary without_suite='host alone' \
    tests/cases tools/on-software-driver $clang/test_{device,model,slang,vk,threads} $gcc/test_{user,exchange} | tee $logs/validated.txt &&
    ! grep -A3 -E '^(pumice: (error|warning): )?(Validation (Error|Warning)|VUID-|SYNC-HAZARD)' $logs/validated.txt
}

# What validation has to find, or its silence means nothing: test cases with `canary` in their names.
canary() { VALIDATION=1 PUMICE_TEST_RUN=software only=canary tests/cases tools/on-software-driver $clang/test_{vk,device}; }

# With an engine that address and undefined-behaviour sanitizers watch. They give no memory back to the system, and keep one
# frame of where it was asked for: Slang and the driver's compiler ask for much.
plain() {
  ASAN_OPTIONS=quarantine_size_mb=32:malloc_context_size=1:allocator_release_to_os_interval_ms=-1 \
    GALLIVM_PERF=nopt \
    PUMICE_TEST_SCALE=$(awk "BEGIN { print $share / 4 }") PUMICE_TEST_RUN=plain without=canary \
    tests/cases tools/on-plain-driver $clang/test_{device,model,slang,vk,threads}_sanitized $gcc/test_user
}
# What sanitizers change (depths, counts of allocations, refusals of memory): files that ask whether one is there.
unsanitized() {
  files=$(grep -rlE 'support/(sanitizer|small_stack).hpp' tests --include='*.cpp' | paste -sd, | sed -E 's/[^,]+/*&/g') \
    PUMICE_TEST_SCALE=$share PUMICE_TEST_RUN=plain tests/cases tools/on-plain-driver $clang/test_{device,model,slang}
}
host() {
  PUMICE_TEST_RUN=host PUMICE_DEVICE=host without=canary \
    tests/cases "" $clang/test_{device,model} $gcc/test_{pages,user,exchange}
}
tsan() { make tsan test_threads && PUMICE_TEST_RUN=plain tests/cases tools/on-plain-driver build/tsan/tests/test_threads; }

# The test programs by g++ too.
by_gcc() {
  make gcc tests && PUMICE_TEST_RUN=software without=canary \
    tests/cases tools/on-software-driver $gcc/test_{front,device,model,slang,vk,threads,user}
}

# Arm's converter and scenario runner are what models in VGF are compared with.
vgf() { make gcc pumice_engine && make clang vgf_check && tests/vgf/run build/clang tools/on-software-driver; }

processes() { tests/process/run build/clang tools/on-plain-driver; }
kills()     { tests/process/kills build/clang tools/on-plain-driver; }
# As many faults as PUMICE_FAULT_EXTENT says; `full` takes half an hour.
faults() { make gcc faults && tests/fault/run build/gcc tools/on-plain-driver; }

add_dtype() { tests/dtype/run tools/on-software-driver; }

consumers() { LAUNCH=tools/on-software-driver tests/consumer/run build/gcc; }

examples() {
  local program passed=0 failed=0
  for program in $(example_programs); do
    echo "## $program"
    if tools/on-software-driver "build/gcc/$program"; then
      passed=$((passed + 1))
    else
      echo "FAILED: $program"
      failed=$((failed + 1))
    fi
  done
  [[ $passed != 0 || $failed != 0 ]] || { echo "MISSING: no example was built"; return 1; }
  say_counts $passed $failed 0
}
example_programs() { for source in examples/[0-9]*.cpp; do basename "$source" .cpp; done | sed 's/^/example_/' | grep -v '\*'; }

packs() { tests/pack/run build/gcc tools/on-software-driver; }

start()        { bench/start/run tools/on-software-driver build/gcc/example_01_hello; }
start_limits() { bench/start/run --limits tools/on-software-driver build/gcc/example_01_hello; }

compile_cost()   { bench/compile/run; }
compile_limits() { bench/compile/run --limits; }

# Files that nobody vouches for, loaded one by one; the sanitizers take several times as long as the 10 s that a user may wait.
hostile() {
  make gcc pumice_engine && make clang hostile_loader deep_loader &&
    PUMICE_HOSTILE_SECONDS=30 tests/hostile/run $clang/hostile/hostile_loader $clang/hostile/deep_loader
}
# PUMICE_FUZZ_SECONDS of each format, 60 by default.
fuzz() { make clang fuzzers && tests/fuzz/run $clang/hostile; }

### What they are made of.

make() {                               # PRESET TARGET...
  local once=()                        # who has a build folder already will edit and compile again
  [[ -e build/$1/CMakeCache.txt ]] || once=(-DPUMICE_TESTS_TOGETHER=ON)
  [[ ${once-} && $1 == clang ]] &&
    once+=("-DPUMICE_ENGINE_OBJECT=$PWD/build/gcc/CMakeFiles/pumice_engine.dir/cmake/pumice_compiled.cpp.o")
  cmake --preset "$1" "${once[@]}" | tee "$logs/configure-$1.txt" &&
    cmake --build --preset "$1" -j "$(nproc)" -t "${@:2}" -- -k 0
}

has() {                                # PRESET TARGET...: the build files know these, so there was something to build
  local preset=$1 target missing=0
  shift
  for target; do
    ninja -C "build/$preset" -t query "$target" > /dev/null 2>&1 && continue
    echo "MISSING: $target: there are no sources for it"
    missing=1
  done
  return $missing
}

say_counts() { echo "$1 passed, $2 failed, $3 skipped"; [[ $2 == 0 ]]; }

counts_in() { sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p' "$1" | tail -1; }

run_parts() {                          # NAMES, joined by +: runs them at once, then tells of each
  local names name
  IFS=+ read -r -a names <<< "$1"
  printf '### %s\n' "${names[@]}"
  for name in "${names[@]}"; do run_part "$name" & done
  wait
  for name in "${names[@]}"; do tell_part "$name"; done
}
run_part() {                           # NAME: leaves its log, its exit status and its seconds
  local start=$SECONDS
  ($1) > "$logs/$1.txt" 2>&1 < /dev/null
  echo "$? $((SECONDS - start))" > "$logs/$1.status"
}
tell_part() {                          # NAME: adds it to the sum, tells what went wrong
  local name=$1 log=$logs/$1.txt status seconds counts
  read -r status seconds < "$logs/$1.status"
  read -r -a counts < <(counts_in "$log")
  if [[ ${#counts[@]} != 3 ]]; then
    [[ $status == 0 ]] && counts=(1 0 0) || counts=(0 1 0)
  elif [[ $status != 0 && ${counts[1]} == 0 ]]; then
    counts[1]=1
  elif [[ $((counts[0] + counts[1] + counts[2])) == 0 ]]; then
    echo "MISSING: $name ran no test at all"
    counts[1]=1
  fi
  passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
  if [[ ${counts[1]} != 0 ]]; then
    failures+=" $name"
    grep -A6 -E 'MISSING|FAILED|ERROR|error:|[Ss]anitizer' "$log" | cut -c1-300 | head -60
    tail -3 "$log" | cut -c1-300
    echo "(all of it: $log)"
  fi
  grep -hE '^measured ' "$log"
  grep -hE '^skipped ' "$log" | sort | uniq -c | sort -rn | head -20
  printf '%s: %d passed, %d failed, %d skipped, %d s\n\n' "$name" "${counts[@]}" "$seconds"
}

if [[ ${1-} == --list ]]; then
  printf '%s\n' "${parts[@]}" | tr + '\n'
  exit
fi
[[ $# == 0 ]] || parts=("$@")
mkdir -p $logs
passed=0 failed=0 skipped=0 failures=
for part in "${parts[@]}"; do run_parts "$part"; done
[[ $# != 0 ]] || echo "not run: ${later[*]} (for an idle machine; tests/run.sh NAME runs them)"
echo "$((SECONDS / 60)) min $((SECONDS % 60)) s${failures:+; failed:$failures}"
say_counts $passed $failed $skipped
