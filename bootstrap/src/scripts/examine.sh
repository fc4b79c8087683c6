# The doctor's own questions. In: rx_base (REASONIX_HOME, absolute, or empty), rx_work (workspace, absolute, or empty),
# rx_try (1: a file may be made and removed again), rx_random.
mark_stderr
tools
rx_uid=$(id -u)
rx_h=${HOME:-}
case $rx_h in /*) ;; *) rx_h= ;; esac

put_in() { if has dd; then dd of="$1"; else cat >"$1"; fi; }

# Says what a folder for programs would be like, from the folder that it would be made in. Nothing stays there.
place() {
  if [ -h "$1" ]; then rx_v=refused; rx_why='is a symbolic link'; report "$1" /; return; fi
  rx_up=$1
  while [ -n "$rx_up" ] && [ ! -d "$rx_up" ]; do
    if [ -e "$rx_up" ] || [ -h "$rx_up" ]; then rx_v=refused; rx_why="$rx_up is no folder"; report "$1" /; return; fi
    rx_up=${rx_up%/*}
  done
  rx_up=${rx_up:-/}
  rx_why=
  if [ "$rx_up" = "$1" ] && [ "$(owner_of "$1/.")" != "$rx_uid" ]; then rx_v=refused; rx_why='belongs to another user'
  elif [ "$rx_try" != 1 ]; then
    rx_v=untried
    if [ ! -w "$rx_up" ]; then rx_v=refused; rx_why="$rx_up may not be written to"; fi
  else try_in "$rx_up"
  fi
  report "$1" "$rx_up"
}
try_in() {
  rx_x=$1/.try-$rx_random
  if ! rx_why=$( { printf '#!/bin/sh\necho ran\n' | put_in "$rx_x"; } 2>&1); then
    rm -f "$rx_x"
    rx_v=refused
    case $rx_why in *'No space'* | *quota*) rx_v=full ;; esac
    return
  fi
  chmod 700 "$rx_x"
  rx_why=$("$rx_x" 2>&1)
  rm -f "$rx_x"
  if [ "$rx_why" = ran ]; then rx_v=runs; rx_why=; else rx_v=noexec; fi
}
report() { say place "$rx_v $(hex "$1") :$(free_in "$2") :$(hex "$rx_why")"; }

for rx_c in "${rx_base:+$rx_base/bin}" "${rx_h:+$rx_h/.cache/reasonix/bin}" "/var/tmp/reasonix-$rx_uid" "${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/reasonix-bin}"; do
  if [ -n "$rx_c" ]; then place "$rx_c"; fi
done

for rx_c in sessions logs bin; do
  if [ -n "$rx_base" ] && [ -d "$rx_base/$rx_c" ]; then
    rx_x=$(limited 10 du -sk "$rx_base/$rx_c" 2>/dev/null)
    say used "$rx_c ${rx_x%%[!0-9]*}"
  fi
done

if [ -n "$rx_work" ] && has git && cd "$rx_work" 2>/dev/null; then
  if rx_x=$(limited 5 git rev-parse --is-inside-work-tree 2>&1); then say git tree
  else
    case $rx_x in
      *'not a git repository'*) say git none ;;
      *) say git "refused $(hex "$rx_x")" ;;
    esac
  fi
elif ! has git; then say git missing
fi
# Address and port of the server, for a look at forwarding.
case ${SSH_CONNECTION:-} in *[!0-9a-fA-F:.%\ ]*) ;; *) say server "${SSH_CONNECTION#* * }" ;; esac
say end 0
