#!/usr/bin/env bash
# Starts `pernode up` on a free port with a directory of its own, runs seeds.py against it, stops it.
# usage: run.sh PERNODE [arguments of seeds.py]
set -euo pipefail
pernode=$1; shift
here=$(cd "$(dirname "$0")" && pwd)
data=$(mktemp -d)
"$pernode" up --data-dir "$data" --listen 127.0.0.1:0 >"$data/up.log" 2>&1 &
pid=$!
trap 'kill -TERM $pid 2>/dev/null; wait $pid 2>/dev/null || true; rm -rf "$data"' EXIT
for _ in $(seq 100); do
  [ -s "$data/kubeconfig" ] && KUBECONFIG=$data/kubeconfig kubectl get --raw /readyz >/dev/null 2>&1 && break
  kill -0 $pid 2>/dev/null || { cat "$data/up.log"; exit 1; }
  sleep 0.1
done
# A discovery cache of our own: another server may have used the same port before.
export KUBECONFIG=$data/kubeconfig KUBECACHEDIR=$data/cache
python3 "$here/seeds.py" "$@" || { tail -50 "$data/up.log"; exit 1; }
