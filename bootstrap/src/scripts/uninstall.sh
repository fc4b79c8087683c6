# Lists what is ours, or removes it. In: rx_base (REASONIX_HOME with links resolved, or empty), rx_remove (1: remove),
# rx_purge (1: sessions and configuration too), rx_runs (run directories of agents that have ended, one a line).
# Only plain files and folders of this user with names that we give; a folder goes only when it is empty then.
mark_stderr
tools
rx_uid=$(id -u)
rx_h=${HOME:-}
case $rx_h in /*) ;; *) rx_h= ;; esac

keep() { say kept "$(hex "$1") $(hex "$2")"; }
mine() { [ ! -h "$1" ] && [ "$(owner_of "$1")" = "$rx_uid" ]; }

# One thing of a kind; what is a link or somebody else's stays.
item() {
  if [ ! -e "$2" ] && [ ! -h "$2" ]; then return; fi
  if ! mine "$2"; then keep "$2" 'is a link, or belongs to another user'; return; fi
  rx_k=$(limited 20 du -sk "$2" 2>/dev/null)
  say item "$1 $(hex "$2") ${rx_k%%[!0-9]*}"
  if [ "$rx_remove" != 1 ]; then return; fi
  if ! rx_why=$(rm -rf "$2" 2>&1); then keep "$2" "$rx_why"; fi
}
# Whether a program runs. What an agent leaves ends a moment after it.
runs() {
  rx_n=0
  while :; do
    rx_y=$(ls -l /proc/[0-9]*/exe 2>/dev/null)
    case "$rx_y
" in *" $1
"*) ;; *) return 1 ;; esac
    rx_n=$((rx_n + 1))
    if [ "$rx_n" -gt 5 ]; then return 0; fi
    sleep 1
  done
}
# A folder that is empty now.
empty() { if [ "$rx_remove" = 1 ] && [ ! -h "$1" ] && [ -d "$1" ] && mine "$1/."; then rmdir "$1" 2>/dev/null; fi; }

programs() {
  if [ -h "$1" ]; then keep "$1" 'is a symbolic link'; return; fi
  if [ ! -d "$1" ]; then return; fi
  if [ "$(owner_of "$1/.")" != "$rx_uid" ]; then keep "$1" 'belongs to another user'; return; fi
  for rx_x in "$1"/reasonix-*-* "$1"/.part-*-* "$1"/.new-*-* "$1"/.lock-* "$1"/.try-*; do
    if [ ! -f "$rx_x" ]; then continue; fi
    # A list is for the question before the agent is stopped.
    if [ "$rx_remove" = 1 ] && runs "$rx_x"; then keep "$rx_x" 'runs'; continue; fi
    item programs "$rx_x"
  done
  empty "$1"
}
if [ -n "$rx_base" ]; then programs "$rx_base/bin"; fi
if [ -n "$rx_h" ]; then programs "$rx_h/.cache/reasonix/bin"; empty "$rx_h/.cache/reasonix"; fi
programs "/var/tmp/reasonix-$rx_uid"
if [ -n "${XDG_RUNTIME_DIR:-}" ]; then programs "$XDG_RUNTIME_DIR/reasonix-bin"; fi

rx_ifs=$IFS
IFS='
'
for rx_x in $rx_runs; do
  case $rx_x in
    "/tmp/reasonix-$rx_uid-"* | "${XDG_RUNTIME_DIR:-/nowhere}/reasonix-"*) ;;
    *) continue ;;
  esac
  rx_y=${rx_x##*/reasonix-}
  case $rx_y in *[!0-9a-f-]*) continue ;; esac
  # Beside them: where a client put the socket of the SSH agent that it lent.
  for rx_z in "$rx_x" "$rx_x-keys" "$rx_x-keys-"[1-9]; do item run "$rx_z"; done
done
IFS=$rx_ifs

if [ -n "$rx_base" ] && [ -d "$rx_base" ]; then
  if [ "$(owner_of "$rx_base/.")" != "$rx_uid" ]; then keep "$rx_base" 'belongs to another user'
  # Names such as `logs`, `history` or `.env` are anybody's there.
  elif [ "$rx_base" = / ] || { [ -n "$rx_h" ] && [ "$(cd "$rx_h" 2>/dev/null && pwd -P)" = "$rx_base" ]; }; then
    keep "$rx_base" 'is the home or the root folder itself: sessions, logs and configuration are not told from what is yours there'
  else
    item logs "$rx_base/logs"
    if [ "$rx_purge" = 1 ]; then
      item sessions "$rx_base/sessions"
      for rx_x in config.toml .env history hosts known_hosts dist REASONIX.md AGENTS.md; do item configuration "$rx_base/$rx_x"; done
      for rx_x in "$rx_base"/* "$rx_base"/.[!.]*; do
        if [ "$rx_remove" = 1 ] && [ -e "$rx_x" ]; then keep "$rx_x" 'is not of our making'; fi
      done
    fi
    empty "$rx_base"
  fi
fi
rx_x=$(command -v reasonix 2>/dev/null)
case $rx_x in /*) keep "$rx_x" 'is on the PATH, installed by somebody else' ;; esac
say end 0
