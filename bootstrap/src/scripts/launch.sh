# Starts the daemon, or finds the one that runs. In: rx_bin, rx_home (REASONIX_HOME, absolute, or empty), rx_seconds,
# rx_own (1: only a daemon of this very program will do), rx_unit (1: in a unit of the user's service manager), rx_linger
# (1: ask for lingering first).
# PATH and locale are left alone: the daemon inherits them.
if [ -n "$rx_home" ]; then
  REASONIX_HOME=$rx_home
  export REASONIX_HOME
fi
if [ "$rx_linger" = 1 ]; then
  # It goes on without: the unit ends with the last session then, which is said.
  if limited 10 loginctl --no-ask-password enable-linger >/dev/null 2>&1; then say linger yes; else say linger no; fi
fi
mark_stderr
rx_how=
if [ "$rx_own" = 1 ]; then rx_how="--accept own"; fi
if [ "$rx_unit" = 1 ]; then
  if [ -z "${XDG_RUNTIME_DIR:-}" ]; then
    XDG_RUNTIME_DIR=/run/user/$(PATH=$PATH:/usr/bin:/bin; id -u)
    export XDG_RUNTIME_DIR
  fi
  rx_how="$rx_how --under manager"
fi
limited "$rx_seconds" "$rx_bin" serve --detach --fence "$rx_fence" $rx_how
say end $?
