# Building with bounded memory. Sourced by the scripts, with the repository's root as the current
# folder and after tools/packages.sh.

# build_jobs: how many compilers may run at once: one per core, and one per 1.5 GiB of the memory
# that is free now and that this control group may use.
build_jobs() {
  local cores free_kib limit jobs
  cores=$(nproc)
  free_kib=$(awk '$1 == "MemAvailable:" {print $2}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [[ "$limit" =~ ^[0-9]+$ ]] && ((limit / 1024 < free_kib)); then
    free_kib=$((limit / 1024))
  fi
  jobs=$((free_kib / 1572864))
  jobs=$((jobs < cores ? jobs : cores))
  echo $((jobs < 1 ? 1 : jobs))
}

# run_logged LOG COMMAND...: quiet when it goes well; shows the end of the log when it does not.
run_logged() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    say "Failed: $*"
    say "The whole output: $log"
    return 1
  fi
}

# build PRESET TARGET...: shows ninja's own progress.
build() {
  local preset=$1
  shift
  NINJA_STATUS='[%f/%t, %e s] ' cmake --build "build/$preset" -j "$(build_jobs)" --target "$@" >&2
}
