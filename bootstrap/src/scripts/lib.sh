# Shared by every script. The scripts run inside one function (see script.rs), so a script that arrives cut is a
# syntax error and does nothing. Variables begin with rx_: assigning to a name that the login shell exported would
# change it for the daemon.

# Where no home is set, the one of the user database counts, for everything that is started too.
case ${HOME:-} in
  /*) ;;
  *)
    HOME=$(PATH=${PATH:-}:/usr/bin:/bin; eval "printf %s ~$(id -un 2>/dev/null)")
    export HOME
    ;;
esac

# One answer line. The line break in front ends whatever the start-up files left unfinished.
say() { printf '\n%s %s %s\n' "$rx_fence" "$1" "$2"; }

# On standard error, what comes before this mark is start-up noise.
mark_stderr() { printf '\n%s stderr\n' "$rx_fence" >&2; }

# Any bytes as hexadecimal digits, so that an answer stays on one line.
hex() { printf '%s' "$1" | od -An -v -tx1 | tr -d ' \t\n'; }

# owner, size and mode of a file; `stat` has another syntax on every system.
facts() { ls -lnd "$1" 2>/dev/null | { read -r rx_m rx_l rx_u rx_g rx_s rx_rest; printf '%s %s %s' "$rx_u" "$rx_s" "$rx_m"; }; }
size_of() { rx_f=$(facts "$1"); rx_f=${rx_f#* }; printf '%s' "${rx_f%% *}"; }
owner_of() { rx_f=$(facts "$1"); printf '%s' "${rx_f%% *}"; }

# Free KiB where a directory is.
free_in() { df -P -k "$1" 2>/dev/null | { read -r rx_rest; read -r rx_fs rx_all rx_used rx_avail rx_rest; printf '%s' "$rx_avail"; }; }

# Free inodes where a directory is; nothing where the file system has no table of them.
inodes_in() { df -P -i "$1" 2>/dev/null | { read -r rx_rest; read -r rx_fs rx_all rx_used rx_avail rx_rest; case $rx_all in '' | 0 | *[!0-9]*) ;; *) printf '%s' "$rx_avail" ;; esac; }; }

has() { command -v "$1" >/dev/null 2>&1; }

# Runs a command for at most $1 seconds in the foreground: a background command would ignore SIGINT for ever, and so
# would everything the daemon starts. The watchdog is the child; the command takes the place of its parent. The tools'
# PATH is for the watchdog alone.
limited() {
  rx_t=$1
  shift
  /bin/sh -c '( PATH=$PATH:/usr/bin:/bin; i=0; while [ $i -lt $0 ]; do sleep 1 || exit 0; i=$((i+1)); kill -0 $$ || exit 0; done; kill $$; sleep 1; kill -9 $$ ) >/dev/null 2>&1 </dev/null & exec "$@"' "$rx_t" "$@" </dev/null
}

# The tools of a bare PATH, after the user's own.
tools() {
  PATH=${PATH:-}${PATH:+:}/usr/bin:/bin:/usr/sbin:/sbin
  LC_ALL=C
  export PATH LC_ALL
  unset CDPATH
  umask 077
}
