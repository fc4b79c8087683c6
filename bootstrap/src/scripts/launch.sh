# Starts the daemon, or finds the one that runs. In: rx_bin, rx_home (REASONIX_HOME, absolute, or empty), rx_seconds.
# PATH and locale are left alone: the daemon inherits them.
if [ -n "$rx_home" ]; then
  REASONIX_HOME=$rx_home
  export REASONIX_HOME
fi
mark_stderr
limited "$rx_seconds" "$rx_bin" serve --detach --fence "$rx_fence"
say end $?
