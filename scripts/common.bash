# Shared by the scripts here; sourced, never run. Leaves the shell in the repository's root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# One compiler cache for every checkout and preset: paths are stored relative to the checkout.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}"
export CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-1}"
JOBS="${JOBS:-$(nproc)}"

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 2; }

# Prints the comment block at the top of the calling script.
usage() { sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; }

# configure PRESET [ARGUMENT...]: writes CMake's log only when something went wrong, and of that no more than the
# packages that are missing, if it is that.
configure() {
  local log; log="$(mktemp)"
  if ! cmake --preset "$@" >"$log" 2>&1; then
    if grep -q '^ *Debian packages missing' "$log"; then
      sed -n 's/^ *\(Debian packages missing\)/error: \1/p' "$log" >&2
    else
      cat "$log" >&2
    fi
    rm -f "$log"; return 1
  fi
  rm -f "$log"
}

# build PRESET TARGET...: incremental and quiet about what is already done.
build() {
  local preset="$1"; shift
  cmake --build --preset "$preset" -j "$JOBS" --target "$@"
}
