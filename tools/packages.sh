# The Debian 12 packages that this project needs. Sourced by the scripts; installs nothing by itself.

# ocl-icd-opencl-dev: oneDNN's CMake file asks for it; nothing of ours does.
TB_BUILD_PACKAGES=(
  ca-certificates cmake g++ git ninja-build pkg-config
  libarchive-dev libboost-dev libcli11-dev libcurl4-openssl-dev libdnnl-dev libfmt-dev libhwy-dev
  libpcre2-dev libpq-dev libsqlite3-dev libssl-dev libutf8proc-dev libyaml-cpp-dev nlohmann-json3-dev
  ocl-icd-opencl-dev zlib1g-dev)
TB_TEST_PACKAGES=(libbenchmark-dev libgmock-dev libgtest-dev openssl postgresql python3 python3-pip sqlite3)
TB_FORMAT_PACKAGES=(clang-format git)
TB_TIDY_PACKAGES=(clang-tidy)

# say TEXT: one line about what is going on. Standard output is for results.
say() {
  printf '%s\n' "$*" >&2
}

# missing_packages NAME...: those that are not installed, one a line.
missing_packages() {
  local installed
  installed=" $(dpkg-query -W -f='${db:Status-Status}=${Package} ' "$@" 2>/dev/null || true)"
  local name
  for name in "$@"; do
    [[ "$installed" == *" installed=$name "* ]] || printf '%s\n' "$name"
  done
}

# install_packages NAME...: installs what is missing, as root or through sudo. Needs no network
# when nothing is missing.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "This is not Debian: taking it that these are installed: $*"
    return
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    return
  fi
  local sudo=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      say "Missing packages, and neither root nor sudo to install them. As root:"
      say "  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
      return 1
    fi
    sudo=(sudo)
  fi
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  keep_server_off "${missing[@]}"
  local log
  log=$(mktemp)
  if ! apt_install "$log" "${missing[@]}"; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    say "apt-get failed; its last lines stand above."
    return 1
  fi
  rm -f "$log"
}

# keep_server_off NAME...: Debian makes a database and starts its server when "postgresql" is
# installed; the tests start one of their own and want no other.
keep_server_off() {
  local file=/etc/postgresql-common/createcluster.conf
  if [[ " $* " == *" postgresql "* && ! -e "$file" ]]; then
    "${sudo[@]}" mkdir -p "${file%/*}"
    printf 'create_main_cluster = false\n' | "${sudo[@]}" tee "$file" >/dev/null
  fi
}

# apt_install LOG NAME...: uses the package lists at hand first, and fetches them when there are
# none or they are too old.
apt_install() {
  local log=$1
  shift
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
  local install=("${apt[@]}" install -y --no-install-recommends "$@")
  if compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null &&
    "${sudo[@]}" "${install[@]}" >"$log" 2>&1 </dev/null; then
    return
  fi
  "${sudo[@]}" "${apt[@]}" update >"$log" 2>&1 </dev/null &&
    "${sudo[@]}" "${install[@]}" >>"$log" 2>&1 </dev/null
}
