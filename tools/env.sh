# Shared by the tools/on-* commands: how a program meets the drivers of .deps. Sourced, never run.
set -euo pipefail

tools=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
deps=$(dirname "$tools")/.deps
machine=$(uname -m)-linux-gnu

die() { echo "$(basename "$0"): $*" >&2; exit 127; }

need() {                               # FOLDER [OPTION]: of .deps, and the option of tools/deps that takes it
  [[ -e $deps/$1 ]] || die ".deps/$1 is missing. Run: tools/deps${2:+ $2}"
}

folders() {                            # FOLDER...: where their libraries lie, as a search path
  local folder path=
  for folder; do path+=$deps/$folder/usr/lib/$machine:$deps/$folder/lib/$machine:; done
  echo "$path$deps/slang/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

drivers() {                            # FOLDER...: whose drivers the program is to see, and no other
  local files
  files=$(printf ":$deps/%s/lavapipe.json" "$@")
  export VK_DRIVER_FILES=${files#:}
}

# VALIDATION=1 checks every call and every barrier; VALIDATION=gpu also looks into running shaders, which is slow.
validating() { [[ ${VALIDATION:-0} != 0 ]]; }

layers() {
  export VK_LAYER_PATH=$deps/forky/layers${VK_LAYER_PATH:+:$VK_LAYER_PATH}
  validating || return 0
  export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation${VK_INSTANCE_LAYERS:+:$VK_INSTANCE_LAYERS} VK_LAYER_SETTINGS_PATH=$tools/vk_layer_settings.txt
  [[ $VALIDATION != gpu ]] || export VK_KHRONOS_VALIDATION_GPUAV_ENABLE=true
}

# The newer driver and the layers need a newer libc than the machine's, and a process has one libc: so the program starts
# through the dynamic loader that came with the driver. What it starts in turn does not inherit that, so a script runs as
# ever, and it, like ctest, reaches the driver by starting its programs through tools/launch.
on_newer_libc() {                      # SEARCH-PATH COMMAND ARGUMENTS...
  local path=$1 command=$2 program
  shift 2
  program=$(type -P -- "$command") || die "no such command: $command"
  [[ $(head -c 4 -- "$program" | tr -d '\0') == $'\x7fELF' ]] || exec "$program" "$@"
  exec "$deps/forky/usr/lib/$machine"/ld-linux-*.so.* \
    --argv0 "$command" --library-path "$path:/usr/lib/$machine:/lib/$machine" "$program" "$@"
}

[[ $# -gt 0 ]] || die "usage: [VALIDATION=1] $0 COMMAND ARGUMENTS..."
need slang
export PUMICE_SLANG_LIBRARY=${PUMICE_SLANG_LIBRARY:-$deps/slang/lib/libslang-compiler.so}
# What validates SPIR-V of files; without it that is libslang-glslang.
[[ ! -e $deps/spirv_tools ]] ||
  export PUMICE_SPIRV_TOOLS=${PUMICE_SPIRV_TOOLS:-$deps/spirv_tools/lib/libSPIRV-Tools-shared.so}
PUMICE_RUN=$(readlink -f "$0")         # for tools/launch
export PUMICE_RUN
