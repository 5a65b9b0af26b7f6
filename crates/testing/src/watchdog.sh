# Runs one private PostgreSQL server for the process at the other end of standard input, and ends with that process.
# Arguments: the folder for temporary files, and the folder of PostgreSQL's programs.
# Each line of input is an order and is answered with one line. The end of the input means that the process has no more use for the
# server, or is gone, however that happened: then the server is stopped and its folder removed.

# Ctrl-C and a closed terminal are meant for the process that wanted the server; its end is seen at the end of the input. An answer to a
# process that is gone must not end this one before it has cleaned up.
trap '' HUP INT TERM PIPE
umask 077

programs=$2
server=

# Makes the files of a server that lets in only who knows the password. Without --no-sync, initdb would take seconds to make
# files durable that nobody needs after a power cut; what the server itself writes later is not affected.
make() {
    printf '%s\n' "$1" >"$folder/password"
    "$programs/initdb" --pgdata="$folder/data" --username=taximeter --pwfile="$folder/password" --auth=scram-sha-256 \
        --encoding=UTF8 --locale=C --no-sync </dev/null >>"$folder/log" 2>&1 || return 1
    rm "$folder/password"
    # What makes commits durable keeps its default, on. The socket, in the data folder, is nobody else's.
    cat >>"$folder/data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
unix_socket_directories = '.'
max_connections = 200
shared_buffers = 32MB
END
}

# Succeeds when the server takes connections. The port is an argument: it may be taken, and then the caller tries another.
start() {
    [ -z "$server" ] || return 0
    "$programs/postgres" -D "$folder/data" -p "$1" </dev/null >>"$folder/log" 2>&1 &
    server=$!
    tries=2400
    while [ "$tries" -gt 0 ]; do
        sleep 0.05
        is_ready && return 0
        kill -0 "$server" 2>/dev/null || break
        tries=$((tries - 1))
    done
    kill -KILL "$server" 2>/dev/null
    wait "$server"
    server=
    return 1
}

# The server's own word, in its lock file: the port could answer for a server that was faster to take it.
is_ready() {
    lock=$folder/data/postmaster.pid
    [ "$(sed -n 1p "$lock" 2>/dev/null)" = "$server" ] && [ "$(sed -n '8s/ *$//p' "$lock" 2>/dev/null)" = ready ]
}

# Stops the server as a crash does: no checkpoint, no waiting for clients. A test may have suspended it, so it is woken up.
stop() {
    [ -n "$server" ] || return 0
    kill -QUIT "$server" 2>/dev/null
    kill -CONT "$server" 2>/dev/null
    wait "$server"
    server=
}

# The folder for temporary files may be closed to the user that the server runs as.
template=taximeter-postgres-XXXXXX
folder=$(mktemp -d "$1/$template" 2>/dev/null || mktemp -d "/tmp/$template" 2>/dev/null) || exit 1
echo "$folder"

while read -r order argument; do
    case $order in
    make) make "$argument" ;;
    start) start "$argument" ;;
    stop) stop ;;
    *) false ;;
    esac && echo done || echo failed
done

stop
rm -rf -- "$folder"
