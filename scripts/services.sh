#!/usr/bin/env bash
# Install and start PostgreSQL (127.0.0.1:5432), Redis (127.0.0.1:6379), PgBouncer, Prometheus, nginx, libfaketime and Chromium for the tests, if missing.
set -euo pipefail

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
wait_for() {
  for _ in $(seq 60); do port_open "$1" && return 0; sleep 0.5; done
  echo "services: no service on 127.0.0.1:$1" >&2
  return 1
}
install() {
  echo "services: installing $*"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
}

# Only the programs of a package: installed, it would also start a server.
unpack() {
  echo "services: unpacking $1"
  folder=$(mktemp -d)
  apt-get update -qq
  (cd "$folder" && apt-get download -qq "$1" 2>/dev/null && dpkg-deb -x "$1"_*.deb .)
  for program in "${@:2}"; do cp "$folder/$program" /usr/local/bin/; done
  rm -r "$folder"
}

if ! port_open 5432; then
  ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || install postgresql
  version=$(ls /etc/postgresql | sort -V | tail -n 1)
  # Trust connections from loopback, so that tests need no password.
  sed -i -E 's/^(local|host)(\s+all\s+.*)(peer|scram-sha-256|md5)$/\1\2trust/' "/etc/postgresql/$version/main/pg_hba.conf"
  pg_ctlcluster --skip-systemctl-redirect "$version" main restart
  wait_for 5432
  psql -h 127.0.0.1 -U postgres -qc "create role root superuser login" 2>/dev/null || true
  psql -h 127.0.0.1 -U postgres -qc "create database test owner root" 2>/dev/null || true
fi
if ! port_open 6379; then
  command -v redis-server >/dev/null || install redis-server
  redis-server --daemonize yes --bind 127.0.0.1 --port 6379 --save "" --appendonly no >/dev/null
  wait_for 6379
fi
if [ ! -x /usr/sbin/pgbouncer ]; then
  # Only the binary: tests start their own instance with their own configuration.
  install pgbouncer
  service pgbouncer stop >/dev/null 2>&1 || true
fi
if ! command -v prometheus >/dev/null || ! command -v promtool >/dev/null; then
  unpack prometheus usr/bin/prometheus usr/bin/promtool
fi
if ! command -v nginx >/dev/null; then
  unpack nginx usr/sbin/nginx
fi
if ! ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1; then
  # Moves the clocks of single processes in `make faults-operations`.
  install libfaketime
fi
if [ ! -x /usr/bin/chromium ]; then
  # Runs the user stories.
  install --no-install-recommends chromium
fi
