# Becomes the bridge, or an agent of its own (rx_stdio is 1). In: rx_bin, rx_home (REASONIX_HOME, absolute, or empty),
# rx_socket.
if [ -n "$rx_home" ]; then
  REASONIX_HOME=$rx_home
  export REASONIX_HOME
fi
if [ "$rx_stdio" = 1 ]; then exec "$rx_bin" serve --stdio --fence "$rx_fence"; fi
exec "$rx_bin" bridge --fence "$rx_fence" --socket "$rx_socket"
