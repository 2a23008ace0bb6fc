# SPDX-License-Identifier: Apache-2.0
#
# Shared by scripts/demo and scripts/test: packages, configuring, building with a quiet progress line.
# Sourced by bash under `set -euo pipefail`; expects `root` to be the repository's root.

export LC_ALL=C.UTF-8
jobs=${HYPERPARALLEL_JOBS:-$(nproc)}
logs=$root/build/logs

say() { printf '%s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# Installs the Debian packages that are missing, as root or through sudo; names them and stops where neither works.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: expecting the equivalents of: $*"
    return
  fi
  local package missing=()
  for package in "$@"; do
    if [ "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null)" != 'install ok installed' ]; then missing+=("$package"); fi
  done
  if [ ${#missing[@]} -eq 0 ]; then return; fi

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then fail "missing packages, and no right to install them: ${missing[*]}"; fi
    as_root=(sudo -n)
  fi
  say "installing: ${missing[*]}"
  mkdir -p "$logs"
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends)
  # Fresh machines have no package lists, old lists name packages that have gone: either way one update cures it.
  if ! "${install[@]}" "${missing[@]}" </dev/null >"$logs/packages.log" 2>&1; then
    "${as_root[@]}" apt-get update -q </dev/null >>"$logs/packages.log" 2>&1 || true
    if ! "${install[@]}" "${missing[@]}" </dev/null >>"$logs/packages.log" 2>&1; then
      tail -n 5 "$logs/packages.log" >&2
      fail "could not install: ${missing[*]}"
    fi
  fi
}

# Copies a build's output to a log and shows how far it is: one moving line on a terminal, every quarter elsewhere.
progress() {
  local log=$1 label=$2 line quarter shown=0
  : >"$log"
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$log"
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      if [ -t 1 ]; then
        printf '\r  %s: %s of %s ' "$label" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
      else
        quarter=$((BASH_REMATCH[1] * 4 / BASH_REMATCH[2]))
        if [ "$quarter" -gt "$shown" ] && [ "${BASH_REMATCH[2]}" -ge 4 ]; then
          shown=$quarter
          printf '  %s: %s of %s\n' "$label" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
        fi
      fi
    fi
  done
  if [ -t 1 ]; then printf '\r\033[K'; fi
}

# configure PRESET BUILD_FOLDER [option…]
configure() {
  local preset=$1 folder=$2
  shift 2
  mkdir -p "$logs"
  # A tree that was copied or moved remembers its old place.
  if [ -f "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    rm -rf "$folder"
  fi
  local log
  log=$logs/$(basename "$folder").configure.log
  if ! (cd "$root" && cmake --preset "$preset" -B "$folder" -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$folder/bin" "$@") \
    </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    return 1
  fi
}

# build FOLDER LABEL [target…]: builds all it can, and says what failed.
build() {
  local folder=$1 label=$2 target targets=()
  shift 2
  for target in "$@"; do targets+=(--target "$target"); done
  local log
  log=$logs/$(basename "$folder").build.log
  if ! cmake --build "$folder" --parallel "$jobs" "${targets[@]}" -- -k 0 </dev/null 2>&1 | progress "$log" "$label"; then
    { grep -E '(error|Error):|^FAILED' "$log" || tail -n 20 "$log"; } | head -n 30 >&2
    return 1
  fi
}
