# Becomes the bridge. In: rx_bin, rx_home (REASONIX_HOME, absolute, or empty).
if [ -n "$rx_home" ]; then
  REASONIX_HOME=$rx_home
  export REASONIX_HOME
fi
exec "$rx_bin" bridge --fence "$rx_fence"
