# Takes the program from standard input, or from a file that was written before, and puts it under its final name, or
# leaves that name alone.
# In: rx_dir, rx_name, rx_sum (SHA-256), rx_size, rx_part, rx_new, rx_lock (names), rx_claim (a part to go on with, or
# empty), rx_seek (64 KiB blocks it keeps), rx_way (zstd, gzip, plain; file: rx_part is complete), rx_hash (tool), rx_version, rx_drop
# (names to remove).
tools
if ! rx_why=$(cd "$rx_dir" 2>&1); then say failed "$(hex "$rx_why")"; say end 1; return; fi
cd "$rx_dir"

there() { [ -f "$rx_name" ] && [ -x "$rx_name" ] && [ "$(size_of "$rx_name")" = "$rx_size" ]; }
# Whoever waits for the lock goes on with the file that has no name any more; two at once do no harm.
stop() { rm -f "$rx_lock"; say "$1" "$2"; say end 1; }
# A full disk keeps nothing of ours: what is left would only be in the way.
full() {
  rx_x=$(size_of "$rx_part")
  rx_y=$(free_in .)
  rx_n=$(inodes_in .)
  rm -f "$rx_part" "$rx_new"
  stop full "${rx_x:-0} ${rx_y:-0} $(hex "$1") $rx_n"
}
# A failed write: no room (told by the message, or by the signal of `ulimit -f`), or something else.
broken() {
  case $2 in
    *'No space'* | *quota* | *'too large'*) full "$2" ;;
    *) if [ "$1" = 153 ]; then full 'file size limit exceeded'; else stop failed "$(hex "$2")"; fi ;;
  esac
}

# Another client was faster. The lock may be one that was made anew since.
other() { rm -f "$rx_lock"; say done other; say end 0; }

if there; then other; return; fi

# One upload at a time where the host can say so. The lock falls with its holder; a holder whose files do not change for
# eight seconds is on a dead link, and then both go on: they write to different files and the last rename wins with equal content.
if [ "$rx_way" != file ] && has flock && { exec 9>"$rx_lock"; } 2>/dev/null; then
  rx_n=0
  rx_old=
  while [ "$rx_n" -lt 8 ]; do
    flock -n 9
    if [ $? -ne 1 ]; then break; fi
    if there; then other; return; fi
    rx_x=$(ls -ln .part-* .new-* 2>/dev/null)
    if [ "$rx_x" = "$rx_old" ]; then rx_n=$((rx_n + 1)); else rx_n=0; fi
    rx_old=$rx_x
    say waiting "$rx_n"
    sleep 1
  done
  if there; then other; return; fi
fi

if [ -n "$rx_claim" ]; then
  # The rename succeeds for one claimant only.
  if ! mv "$rx_claim" "$rx_part" 2>/dev/null; then stop lost claim; return; fi
  if [ "$(size_of "$rx_part")" -lt $((rx_seek * 65536)) ]; then stop lost claim; return; fi
fi

# Positioned writes into our own file, never appending: an old writer of a claimed part can only repeat the same bytes
# in the same places.
place() { dd of="$rx_part" bs=65536 seek="$rx_seek" conv=notrunc; }
case $rx_way in
  file) rx_why= ;;
  zstd) rx_why=$( { zstd -dcq | place; } 2>&1) ;;
  gzip) rx_why=$( { gzip -dc | place; } 2>&1) ;;
  *) rx_why=$(place 2>&1) ;;
esac
rx_st=$?
if [ "$rx_st" -ne 0 ]; then broken "$rx_st" "$rx_why"; return; fi
if [ ! -f "$rx_part" ]; then stop lost part; return; fi
rx_x=$(size_of "$rx_part")
# Too short is a cut: the part stays for the next try. Too long is rubbish.
if [ "$rx_x" -gt "$rx_size" ]; then rm -f "$rx_part"; stop mismatch "${rx_x}-bytes"; return; fi
if [ "$rx_x" -lt "$rx_size" ]; then
  if [ "$rx_way" = file ]; then
    # Whoever wrote the file was told only that it failed.
    rx_y=$(free_in .)
    if [ -n "$rx_y" ] && [ $((rx_y * 1024)) -lt $((rx_size - rx_x)) ]; then full 'no space'; return; fi
  fi
  stop short "$rx_x $(hex "$rx_why")"
  return
fi

# A new inode: nobody holds it open for writing, so it can be run ("text file busy") and stays what was hashed.
rx_why=$(cp "$rx_part" "$rx_new" 2>&1)
rx_st=$?
if [ "$rx_st" -ne 0 ]; then
  if [ ! -f "$rx_part" ]; then rm -f "$rx_new"; stop lost part; else broken "$rx_st" "$rx_why"; rm -f "$rx_new"; fi
  return
fi
case $rx_hash in
  sha256sum) rx_x=$(sha256sum <"$rx_new") ;;
  shasum) rx_x=$(shasum -a 256 <"$rx_new") ;;
  openssl) rx_x=$(openssl dgst -sha256 -r <"$rx_new") ;;
esac
rx_x=${rx_x%% *}
if [ "$rx_x" != "$rx_sum" ]; then rm -f "$rx_new" "$rx_part"; stop mismatch "${rx_x:-none}"; return; fi

chmod 755 "$rx_new"
rx_x=$(limited 20 "./$rx_new" --version 2>&1 9>&-)
rx_st=$?
case "$rx_st $rx_x " in
  "0 "*" $rx_version "* | "0 "*" $rx_version
"*) ;;
  *) rm -f "$rx_new" "$rx_part"; stop trial "$rx_st $(hex "$rx_x")"; return ;;
esac

sync "$rx_new" 2>/dev/null
if ! rx_why=$(mv -f "$rx_new" "$rx_name" 2>&1); then rm -f "$rx_new"; stop failed "$(hex "$rx_why")"; return; fi
sync . 2>/dev/null
# From here on nobody needs the lock: the program is there, and everybody looks for it first.
rm -f "$rx_part" "$rx_lock"
say done new

# A program that runs stays: its daemon starts itself again from this file. Without /proc nobody can tell, so all stay.
if [ -d /proc/self ]; then
  for rx_x in $rx_drop; do
    rx_y=$(ls -l /proc/[0-9]*/exe 2>/dev/null)
    case $rx_y in *"/$rx_x"*) ;; *) rm -f "$rx_x"; say removed "$rx_x" ;; esac
  done
fi
# Left by cuts and kills, a day ago or longer.
for rx_x in part new lock try; do
  find . -name ".$rx_x-*" -mtime +0 -exec rm -f {} \; 2>/dev/null
done
say end 0
