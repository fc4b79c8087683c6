# Answers everything the choice of a plan needs, in one round trip.
# In: rx_home (REASONIX_HOME or empty), rx_work (workspace or empty), rx_write (1: folders may be made), rx_room (KiB that
# a program needs, 0: not known).
mark_stderr
tools
rx_uid=$(id -u)
say os "$(uname -s)"
say arch "$(uname -m)"
say kernel "$(uname -r)"
say uid "$rx_uid"
say shell "$(hex "${SHELL:-}")"
say clock "$(date +%s)"
if [ -r /etc/machine-id ]; then say machine "$(cat /etc/machine-id)"; fi
if [ -r /proc/sys/kernel/random/boot_id ]; then say boot "$(cat /proc/sys/kernel/random/boot_id)"; fi
for rx_x in /lib/ld-musl-*; do
  if [ -e "$rx_x" ]; then say libc musl; fi
done
if has getconf; then say libc "$(getconf GNU_LIBC_VERSION 2>/dev/null)"; fi
for rx_x in zstd gzip dd flock bwrap; do
  if has "$rx_x"; then say tool "$rx_x"; fi
done
# The first is the fastest: it uses the processor's own instructions, which sha256sum often does not.
for rx_x in openssl sha256sum shasum; do
  if has "$rx_x"; then say hash "$rx_x"; break; fi
done

# The same means as those by which the agent confines commands, so that the answer is about this user.
if has bwrap; then
  if rx_x=$(limited 5 bwrap --unshare-user --unshare-pid --ro-bind / / --dev /dev --proc /proc -- /bin/sh -c : 2>&1); then say bwrap runs
  else say bwrap "fails $(hex "$rx_x")"
  fi
fi
if has unshare; then
  if rx_x=$(limited 5 unshare --user /bin/sh -c : 2>&1); then say userns runs; else say userns "fails $(hex "$rx_x")"; fi
fi
if [ -r /sys/kernel/security/lsm ]; then say lsm "$(cat /sys/kernel/security/lsm)"; fi
# Names only: a value may hold a password.
for rx_x in http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY; do
  eval "rx_y=\${$rx_x:-}"
  if [ -n "$rx_y" ]; then say proxy "$rx_x"; fi
done

# A home that is not set, is empty or is relative is no home.
rx_h=${HOME:-}
case $rx_h in /*) ;; *) rx_h= ;; esac
say home "$(hex "$rx_h")"

# Sets rx_abs: `~`, `~/x` and relative names start in the home. Always absolute, so no name looks like an option.
absolute() {
  case $1 in
    /*) rx_abs=$1 ;;
    '~') rx_abs=$rx_h/ ;;
    '~/'*) rx_abs=$rx_h/${1#??} ;;
    *) rx_abs=$rx_h/$1 ;;
  esac
}

# Says why a path cannot be entered, walking up to what exists.
why_not() {
  if [ -d "$1" ]; then say workspace "denied $(hex "$1")"; return; fi
  if [ -e "$1" ]; then say workspace "file $(hex "$1")"; return; fi
  if [ -h "$1" ]; then say workspace "dangling $(hex "$1")"; return; fi
  rx_up=$1
  while :; do
    rx_up=${rx_up%/*}
    if [ -z "$rx_up" ] || [ -e "$rx_up" ]; then break; fi
  done
  if [ -n "$rx_up" ] && [ -d "$rx_up" ] && [ ! -x "$rx_up" ]; then say workspace "denied $(hex "$1")"
  elif [ -n "$rx_up" ] && [ ! -d "$rx_up" ]; then say workspace "file $(hex "$rx_up")"
  else say workspace "missing $(hex "$1")"
  fi
}

# A refused workspace ends the connect, so nothing is made on the host then.
if [ -n "$rx_work" ]; then
  absolute "$rx_work"
  if rx_real=$(cd "$rx_abs" 2>/dev/null && pwd -P && printf x); then
    rx_real=${rx_real%?x}
    say workspace "ok $(hex "$rx_real")"
  else
    rx_write=0
    while :; do
      case $rx_abs in ?*/) rx_abs=${rx_abs%/} ;; *) break ;; esac
    done
    why_not "$rx_abs"
  fi
fi

if [ -n "$rx_home" ]; then absolute "$rx_home"; rx_base=$rx_abs
elif [ -n "${REASONIX_HOME:-}" ]; then absolute "$REASONIX_HOME"; rx_base=$rx_abs
elif [ -n "$rx_h" ]; then rx_base=$rx_h/.reasonix
else rx_base=
fi
say base "$(hex "$rx_base")"
if [ -n "$rx_base" ] && rx_real=$(cd "$rx_base" 2>/dev/null && pwd -P && printf x); then say base_real "$(hex "${rx_real%?x}")"; fi

# `dd` says why it cannot write; the shell itself only says "I/O error".
put_in() { if has dd; then dd of="$1"; else cat >"$1"; fi; }
is_full() { case $1 in *'No space'* | *quota*) return 0 ;; esac; return 1; }

# Where sessions are written. Without a permission to write only the mode tells, which knows nothing of a full disk.
storage() {
  rx_s=$rx_base/sessions
  rx_why=
  rx_lost=
  if [ "$rx_write" = 1 ] && [ ! -d "$rx_base" ]; then rx_why=$(mkdir -p "$rx_base" 2>&1); fi
  while [ ! -d "$rx_s" ] && [ -n "$rx_s" ]; do rx_s=${rx_s%/*}; done
  if [ -n "$rx_why" ]; then :
  elif [ ! -w "${rx_s:-/}" ] || [ ! -x "${rx_s:-/}" ]; then
    rx_why=$(put_in "$rx_s/.try-$rx_random" 2>&1 </dev/null)
    rm -f "$rx_s/.try-$rx_random"
    rx_why=${rx_why:-not writable}
  elif [ "$rx_write" = 1 ]; then
    rx_x=$rx_s/.try-$rx_random
    rx_why=$(printf '%4096s' x | put_in "$rx_x" 2>&1) && rx_why=
    if [ -z "$rx_why" ] && has flock; then
      if { flock -n 9; } 9>>"$rx_x" 2>/dev/null; then say locks yes; else rx_lost=1; say locks no; fi
    fi
    rm -f "$rx_x"
  fi
  rx_s=${rx_s:-/}
  # Without sessions there is no agent, and then no folder for its program need be made.
  if [ -n "$rx_why$rx_lost" ]; then rx_write=0; fi
  say storage "$(hex "$rx_s") :$(free_in "$rx_s") :$(inodes_in "$rx_s") :$(hex "$(stat -f -c %T "$rx_s" 2>/dev/null)") :$(hex "$rx_why")"
  if has quota; then limited 5 quota -w 2>/dev/null | while read -r rx_x; do say quota "$rx_x"; done; fi
}
if [ -n "$rx_base" ]; then storage; fi

# Tries one folder: ours, private, and a file in it really runs. Sets rx_why when not; 2 is full.
usable() {
  if [ ! -d "$1" ]; then
    if [ "$rx_write" != 1 ]; then rx_why='does not exist'; return 1; fi
    if ! rx_why=$(mkdir -p "$1" 2>&1); then
      if is_full "$rx_why"; then return 2; fi
      return 1
    fi
  fi
  if [ "$(owner_of "$1/.")" != "$rx_uid" ]; then rx_why='belongs to another user'; return 1; fi
  if [ "$rx_write" != 1 ]; then return 0; fi
  rx_why=$(chmod 700 "$1" 2>&1) || return 1
  rx_x=$1/.try-$rx_random
  if ! rx_why=$(printf '#!/bin/sh\necho ran\n' | put_in "$rx_x" 2>&1); then
    rm -f "$rx_x"
    if is_full "$rx_why"; then return 2; fi
    return 1
  fi
  chmod 700 "$rx_x"
  rx_got=$("$rx_x" 2>&1)
  rm -f "$rx_x"
  rx_why=
  if [ "$rx_got" = ran ]; then return 0; fi
  rx_why="files in it cannot be run (mounted noexec?): $rx_got"
  return 1
}

# A folder with too little room is taken where no other has more, or where programs of ours lie already.
roomy() {
  for rx_x in "$1"/reasonix-* "$1"/.part-*; do
    if [ -f "$rx_x" ]; then return 0; fi
  done
  [ -z "$rx_free" ] || [ "$rx_free" -ge "$rx_room" ]
}
choose() { say dir "$(hex "$1") :$2 :$(inodes_in "$1") :$(hex "$3")"; }

candidates() {
  rx_dir=
  rx_tight=
  for rx_c in "${rx_base:+$rx_base/bin}" "${rx_h:+$rx_h/.cache/reasonix/bin}" "/var/tmp/reasonix-$rx_uid" "${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/reasonix-bin}"; do
    if [ -z "$rx_c" ]; then continue; fi
    # In a folder that everybody can write to, a link may be somebody's trap.
    if [ "$rx_c" = "/var/tmp/reasonix-$rx_uid" ] && [ -h "$rx_c" ]; then
      say refused "$(hex "$rx_c") $(hex 'is a symbolic link')"
      continue
    fi
    rx_new=0
    if [ ! -d "$rx_c" ]; then rx_new=1; fi
    rx_why=
    usable "$rx_c"
    rx_st=$?
    rx_free=0
    if [ "$rx_st" = 0 ]; then rx_free=$(free_in "$rx_c"); fi
    if [ "$rx_st" = 0 ] && { [ "$rx_write" != 1 ] || roomy "$rx_c"; }; then
      rx_dir=$rx_c
      choose "$rx_c" "$rx_free"
      return
    fi
    if [ "$rx_new" = 1 ] && rmdir "$rx_c" 2>/dev/null; then
      case $rx_c in */.cache/reasonix/bin) rmdir "${rx_c%/bin}" 2>/dev/null ;; esac
    fi
    if [ "$rx_st" = 1 ]; then say refused "$(hex "$rx_c") $(hex "$rx_why")"; continue; fi
    if [ -z "$rx_tight" ] || [ "$rx_free" -gt "$rx_most" ]; then
      if [ -n "$rx_tight" ]; then say refused "$(hex "$rx_tight") $(hex "$rx_less")"; fi
      rx_tight=$rx_c
      rx_most=$rx_free
      rx_less="has too little room ($rx_free KiB free)"
      rx_full=$rx_why
    else say refused "$(hex "$rx_c") $(hex "has too little room ($rx_free KiB free)")"
    fi
  done
  if [ -n "$rx_tight" ]; then
    mkdir -p "$rx_tight" 2>/dev/null
    rx_dir=$rx_tight
    choose "$rx_tight" "$rx_most" "$rx_full"
  fi
}
candidates

# Installed programs, newest first; the first three are run once, because only a run shows that one works here.
installed() {
  rx_v=
  if [ "$rx_n" -lt 3 ]; then rx_v=$(limited 10 "$1" --version 2>/dev/null); fi
  rx_n=$((rx_n + 1))
  say installed "$(size_of "$1") $(hex "$1") $(hex "$rx_v")"
}
rx_n=0
if [ -n "$rx_dir" ]; then
  for rx_x in $(ls -t "$rx_dir" 2>/dev/null); do
    case $rx_x in *[!A-Za-z0-9._+-]*) continue ;; reasonix-*) ;; *) continue ;; esac
    if [ -f "$rx_dir/$rx_x" ] && [ -x "$rx_dir/$rx_x" ]; then installed "$rx_dir/$rx_x"; fi
  done
  for rx_x in "$rx_dir"/.part-*; do
    if [ -f "$rx_x" ]; then say part "$(size_of "$rx_x") $(hex "${rx_x##*/}")"; fi
  done
fi
rx_x=$(command -v reasonix 2>/dev/null)
case $rx_x in /*) if [ -x "$rx_x" ]; then installed "$rx_x"; fi ;; esac

# Daemons leave identity.json beside their socket. Whether it tells the truth is decided by the reader of this answer.
# One that was started beside another one has a numbered folder in that one's.
daemons() {
  if [ -h "$1" ] || [ ! -d "$1" ] || [ "$(owner_of "$1/.")" != "$rx_uid" ]; then return; fi
  for rx_y in "$1" "$1"/[0-9]*; do
    if [ ! -h "$rx_y" ] && [ -r "$rx_y/identity.json" ]; then daemon "$rx_y"; fi
  done
}
daemon() {
  if has dd; then rx_i=$(dd if="$1/identity.json" bs=4096 count=1 2>/dev/null); else rx_i=$(cat "$1/identity.json" 2>/dev/null); fi
  rx_p=$(printf '%s\n' "$rx_i" | sed -n 's/.*"pid" *: *\([0-9][0-9]*\).*/\1/p')
  rx_st=
  if [ -n "$rx_p" ]; then
    if [ -r "/proc/$rx_p/stat" ]; then rx_st=$(cat "/proc/$rx_p/stat" 2>/dev/null)
    elif [ ! -d /proc/self ] && kill -0 "$rx_p" 2>/dev/null; then rx_st=alive
    fi
  fi
  say daemon "$(hex "$rx_i") :$(hex "$rx_st")"
}
if [ -n "${XDG_RUNTIME_DIR:-}" ]; then
  for rx_x in "$XDG_RUNTIME_DIR"/reasonix-*; do daemons "$rx_x"; done
fi
for rx_x in "/tmp/reasonix-$rx_uid-"*; do daemons "$rx_x"; done

# What becomes of the user's processes at the end of the login (logind.conf(5)), and who else could run the agent.
say user "$(hex "$(id -un 2>/dev/null)")"
rx_got=
if has loginctl; then
  rx_got=$(limited 5 loginctl show-session -p KillUserProcesses -p KillOnlyUsers -p KillExcludeUsers 2>/dev/null)
fi
if [ -z "$rx_got" ] && [ -d /run/systemd/system ]; then
  rx_got=$(cat /etc/systemd/logind.conf /usr/lib/systemd/logind.conf.d/*.conf /run/systemd/logind.conf.d/*.conf /etc/systemd/logind.conf.d/*.conf 2>/dev/null | grep '^Kill')
fi
printf '%s\n' "$rx_got" | while IFS= read -r rx_x; do
  case $rx_x in Kill*=*) say logind "$rx_x" ;; esac
done
if [ -n "${XDG_SESSION_ID:-}" ] || grep -q 'session-.*\.scope' /proc/self/cgroup 2>/dev/null; then say session yes; fi
rx_x=${XDG_RUNTIME_DIR:-/run/user/$rx_uid}
if has systemd-run && { [ -S "$rx_x/bus" ] || [ -S "$rx_x/systemd/private" ]; }; then say manager yes; fi
if [ -e "/var/lib/systemd/linger/$(id -un 2>/dev/null)" ]; then say linger yes; fi
say end 0
