# Runs one chromedriver, and with it the browsers that it starts, for the process at the other end of standard input, and ends with that
# process. Arguments: the folder for temporary files, and the program.
# Says two lines: a folder, and the port that chromedriver listens on, or nothing if it does not; the folder's log says why. The end of
# the input means that the process has no more use for it, or is gone, however that happened: then all is ended and the folder removed.

# Ctrl-C and a closed terminal are meant for the process that wanted the browser; its end is seen at the end of the input.
trap '' HUP INT TERM PIPE
umask 077

folder=$(mktemp -d "$1/taximeter-browser-XXXXXX") || exit 1
echo "$folder"

# A browser writes into its user's home and into the folder for temporary files: both are this folder. In a session of its own,
# chromedriver leads a group that its browsers are in as well, so that all of them can be ended at once.
HOME=$folder TMPDIR=$folder XDG_CONFIG_HOME=$folder XDG_CACHE_HOME=$folder \
    setsid "$2" --port=0 </dev/null >"$folder/log" 2>&1 &
driver=$!

port=
tries=2400
while [ -z "$port" ] && [ "$tries" -gt 0 ] && kill -0 "$driver" 2>/dev/null; do
    sleep 0.05
    port=$(sed -n 's/^ChromeDriver was started successfully on port \([0-9]*\).*/\1/p' "$folder/log")
    tries=$((tries - 1))
done
echo "$port"

while read -r _; do :; done

kill -s KILL -- "-$driver" 2>/dev/null
wait "$driver" 2>/dev/null
# A process that is just being killed may still make a file.
tries=2400
while ! rm -rf -- "$folder" 2>/dev/null && [ "$tries" -gt 0 ]; do
    sleep 0.05
    tries=$((tries - 1))
done
