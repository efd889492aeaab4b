# A private PostgreSQL server for the tests. Sourced by ./test.

# postgres_programs: the folder with initdb and postgres of the newest version installed.
postgres_programs() {
  local folder
  for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV) /usr/bin; do
    if [[ -x "$folder/initdb" && -x "$folder/postgres" ]]; then
      printf '%s\n' "$folder"
      return
    fi
  done
  return 1
}

# start_postgres: sets and exports TB_POSTGRES_URL and stops the server when the shell exits. It
# listens on a socket in a folder of its own and on no port, so that nothing else can be in its way.
# The server refuses to run as root: then a user without rights is taken.
start_postgres() {
  local programs user as=()
  if ! programs=$(postgres_programs); then
    say "There is no PostgreSQL server here: the tests on it are skipped"
    return
  fi
  POSTGRES_FOLDER=$(mktemp -d "${TMPDIR:-/tmp}/tunebench-postgres-XXXXXX")
  chmod 755 "$POSTGRES_FOLDER"
  if ((EUID == 0)); then
    for user in postgres nobody; do
      if id "$user" >/dev/null 2>&1; then
        break
      fi
    done
    as=(setpriv --reuid "$user" --regid "$(id -g "$user")" --clear-groups)
    chown "$user:$(id -g "$user")" "$POSTGRES_FOLDER"
  fi
  # A power failure may cost this server's data: fsync is off.
  if ! (cd / && "${as[@]}" "$programs/initdb" --pgdata "$POSTGRES_FOLDER/data" --username tunebench \
    --auth trust --encoding UTF8 --locale C --no-sync) >"$POSTGRES_FOLDER.log" 2>&1; then
    tail -n 5 "$POSTGRES_FOLDER.log" >&2
    stop_postgres
    return 1
  fi
  (cd / && exec "${as[@]}" "$programs/postgres" -D "$POSTGRES_FOLDER/data" -k "$POSTGRES_FOLDER" \
    -c listen_addresses= -c fsync=off -c full_page_writes=off -c max_connections=200) \
    >>"$POSTGRES_FOLDER.log" 2>&1 &
  POSTGRES_PID=$!
  trap stop_postgres EXIT
  local try
  for ((try = 0; try < 300; ++try)); do
    if "$programs/pg_isready" --quiet --host "$POSTGRES_FOLDER"; then
      TB_POSTGRES_URL="postgresql://tunebench@/postgres?host=$POSTGRES_FOLDER"
      export TB_POSTGRES_URL
      return
    fi
    sleep 0.1
  done
  tail -n 5 "$POSTGRES_FOLDER.log" >&2
  stop_postgres
  return 1
}

# stop_postgres: ends the server and removes what it kept.
stop_postgres() {
  if [[ -n "${POSTGRES_PID:-}" ]]; then
    # SIGINT is the fast shutdown, which waits for no client.
    kill -INT "$POSTGRES_PID" 2>/dev/null || true
    wait "$POSTGRES_PID" 2>/dev/null || true
    POSTGRES_PID=
  fi
  if [[ -n "${POSTGRES_FOLDER:-}" ]]; then
    rm -rf "$POSTGRES_FOLDER" "$POSTGRES_FOLDER.log"
    POSTGRES_FOLDER=
  fi
}
