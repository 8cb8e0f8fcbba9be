# Stops an ephemeral server and deletes its data when it has no users.
# Arguments: the folder of the locks, the folder of the cluster, seconds between checks.
# Users hold a shared lock on users.lock, which the kernel drops when they end.
set -u
home=$1 cluster=$2 idle=$3

serves() { # the working folder of the process is the data folder; a zombie has none
  [ "$(readlink "/proc/$pid/cwd")" = "$cluster/data" ]
}

end() { # stop the server, then delete its data
  pid=$(head -n 1 "$cluster/data/postmaster.pid" 2>/dev/null)
  if [ -n "$pid" ] && serves; then
    kill -INT "$pid" # fast shutdown
    n=0
    while serves && [ $n -lt 300 ]; do
      sleep 0.1
      n=$((n + 1))
    done
    serves && exit 1
  fi
  rm -rf "$cluster"
  exit 0
}

exec 9>"$home/reaper.lock" || exit 0
flock -w 5 9 || exit 0 # another reaper is running

while sleep "$idle"; do
  [ -e "$cluster/ephemeral" ] || exit 0
  [ -e "$home/start.lock" ] || end # the folder was removed, so there can be no new users
  # Same order as Start and Close: first start.lock, then users.lock.
  exec 8>"$home/start.lock" 7>"$home/users.lock" || exit 0
  if flock -n 8 && flock -n 7; then
    end
  fi
  exec 8>&- 7>&-
done
