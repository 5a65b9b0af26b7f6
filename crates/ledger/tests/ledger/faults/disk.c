/* A disk that fails, for tests: put before the C library with LD_PRELOAD, it stands between a program and the files of one folder.
 *
 * It counts every operation that changes those files or syncs them, and can let one of them fail, or cut the power: then the files
 * are put back to what was synced, and the process ends. For that it keeps, of each file, the bytes that are certainly on disk and
 * the writes since; of the folder, the names that are certainly on disk and each change since. What is written is on disk when the
 * file is synced, a name when the folder is. After a sync that failed, what was to be synced never gets to the disk unless it is
 * written again, as on Linux. A sector of 512 bytes is written whole or not at all. Nothing is ever really synced: that is slow.
 *
 * SQLite's shared memory (-shm) is no part of the disk: it is counted only where operations fail, and gone after a power cut.
 *
 *   DISK_FOLDER     the folder
 *   DISK_TRACE      if set, every operation is printed to standard output, and at the end whether the files are what was seen
 *   DISK_FAIL_AT    the operation that fails, from 1; DISK_ERROR is its errno; with DISK_FOREVER all later ones fail too
 *   DISK_SHORT      if set, a write that should fail writes half instead, and says so
 *   DISK_CUT_AT     the operation before which the power is cut; DISK_SEED chooses what of the unsynced bytes is kept, 0 for nothing
 *   DISK_KILL_AT    the operation before which the process ends; what is on disk is then in the folder DISK_STATE for the next one
 *   DISK_LIE        if set, a sync does nothing, and says that it did
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILES = 256, MOST_NAMES = 16, MOST_FDS = 1024, SECTOR = 512, FOLDER = -2, NONE = -1 };

struct change { size_t at, size; char *bytes; /* no bytes: cut off at this place */ };
struct bytes { char *bytes; size_t size; };
struct file { struct bytes synced; struct change *changes; size_t count; };
struct names { int count; struct { char name[256]; int file; } entry[MOST_NAMES]; };

static struct file files[MOST_FILES];
static int file_count;
static struct names *tables; /* the names on disk, and after each change since; the last are those of now */
static size_t table_count;
static int file_of_fd[MOST_FDS];
static const char *folder, *state;
static long operation, fail_at, cut_at, kill_at, error_number;
static uint64_t seed, random_state;
static int trace, forever, write_short, lie, is_ready;
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static int (*real_open)(const char *, int, ...), (*real_close)(int), (*real_ftruncate)(int, off_t), (*real_fsync)(int);
static int (*real_rename)(const char *, const char *), (*real_unlink)(const char *);
static int (*real_linkat)(int, const char *, int, const char *, int);
static ssize_t (*real_write)(int, const void *, size_t), (*real_pwrite)(int, const void *, size_t, off_t);

static void say(const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (real_write(1, line, (size_t)size) != size) _exit(99);
}

static void require(int is_so, const char *what)
{
    if (!is_so) { say("the disk cannot go on: %s\n", what); _exit(99); }
}

static void *grown(void *memory, size_t size)
{
    memory = realloc(memory, size ? size : 1);
    require(memory != NULL, "memory");
    return memory;
}

/* --- what is on disk ------------------------------------------------------------------------------------------------------- */

static void apply(struct bytes *image, const struct change *change, size_t from, size_t to)
{
    size_t start = change->at > from ? change->at : from, end = change->bytes ? change->at + change->size : to;
    if (end > to) end = to;
    if (start >= end) return;
    if (!change->bytes) { memset(image->bytes + start, 0, end - start); return; }
    memcpy(image->bytes + start, change->bytes + (start - change->at), end - start);
}

static size_t size_after(size_t size, const struct change *change)
{
    if (!change->bytes) return change->at;
    return change->at + change->size > size ? change->at + change->size : size;
}

static void resize(struct bytes *image, size_t size)
{
    image->bytes = grown(image->bytes, size);
    if (size > image->size) memset(image->bytes + image->size, 0, size - image->size);
    image->size = size;
}

static void forget(struct file *file)
{
    for (size_t i = 0; i < file->count; i++) free(file->changes[i].bytes);
    file->count = 0;
}

static void changed(int number, size_t at, const void *bytes, size_t size)
{
    struct file *file = &files[number];
    file->changes = grown(file->changes, (file->count + 1) * sizeof *file->changes);
    struct change *change = &file->changes[file->count++];
    *change = (struct change){ at, size, NULL };
    if (bytes) { change->bytes = grown(NULL, size); memcpy(change->bytes, bytes, size); }
}

static void synced(struct file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        resize(&file->synced, size_after(file->synced.size, &file->changes[i]));
        apply(&file->synced, &file->changes[i], 0, file->synced.size);
    }
    forget(file);
}

static uint64_t random_below(uint64_t limit)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % limit;
}

/* A file as the disk may have it: every sector is in one of the states that it went through since the last sync. */
static struct bytes survivor(const struct file *file)
{
    struct bytes image = { NULL, 0 };
    size_t size = file->synced.size, versions = seed ? random_below(file->count + 1) : 0;
    for (size_t i = 0; i < versions; i++) size = size_after(size, &file->changes[i]);
    resize(&image, size);
    if (file->synced.size) memcpy(image.bytes, file->synced.bytes, size < file->synced.size ? size : file->synced.size);
    for (size_t from = 0; seed && from < size; from += SECTOR) {
        size_t to = from + SECTOR < size ? from + SECTOR : size, touching = 0, kept;
        for (size_t i = 0; i < file->count; i++) {
            const struct change *change = &file->changes[i];
            touching += change->at < to && (!change->bytes || change->at + change->size > from);
        }
        /* Most sectors kept, few, or half of them, as the seed says. */
        kept = random_below(4) < seed % 4 ? touching : random_below(touching + 1);
        for (size_t i = 0; i < file->count && kept > 0; i++) {
            const struct change *change = &file->changes[i];
            if (!(change->at < to && (!change->bytes || change->at + change->size > from))) continue;
            apply(&image, change, from, to);
            kept--;
        }
    }
    return image;
}

/* --- names ----------------------------------------------------------------------------------------------------------------- */

static struct names *now(void) { return &tables[table_count - 1]; }

static int is_memory(const char *name)
{
    size_t size = strlen(name);
    return size > 4 && strcmp(name + size - 4, "-shm") == 0;
}

/* The name of a file directly in the folder; nothing for all others. */
static const char *name_in_folder(const char *path)
{
    size_t size = folder ? strlen(folder) : 0;
    if (!size || strncmp(path, folder, size) != 0 || path[size] != '/' || strchr(path + size + 1, '/')) return NULL;
    return path + size + 1;
}

static int find(const struct names *names, const char *name)
{
    for (int i = 0; i < names->count; i++) if (strcmp(names->entry[i].name, name) == 0) return i;
    return NONE;
}

static void set_name(struct names *names, const char *name, int file)
{
    int at = find(names, name);
    if (file == NONE) {
        if (at != NONE) names->entry[at] = names->entry[--names->count];
        return;
    }
    if (at == NONE) {
        require(names->count < MOST_NAMES && strlen(name) < sizeof names->entry[0].name, "too many names, or too long ones");
        strcpy(names->entry[at = names->count++].name, name);
    }
    names->entry[at].file = file;
}

/* From here on the names are others, until the folder is synced only perhaps. */
static struct names *change_names(void)
{
    tables = grown(tables, (table_count + 1) * sizeof *tables);
    tables[table_count] = tables[table_count - 1];
    table_count++;
    return now();
}

static int new_file(void)
{
    require(file_count < MOST_FILES, "too many files");
    return file_count++;
}

static char *path_of(const char *in, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", in, name);
    return path;
}

static struct bytes read_whole(const char *path)
{
    struct bytes whole = { NULL, 0 };
    struct stat about;
    int fd = real_open(path, O_RDONLY);
    require(fd >= 0 && fstat(fd, &about) == 0, "a file that cannot be read");
    resize(&whole, (size_t)about.st_size);
    require(read(fd, whole.bytes, whole.size) == (ssize_t)whole.size, "a file that cannot be read");
    real_close(fd);
    return whole;
}

static void write_whole(const char *path, struct bytes whole)
{
    int fd = real_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    require(fd >= 0 && real_write(fd, whole.bytes, whole.size) == (ssize_t)whole.size, "a file that cannot be written");
    real_close(fd);
}

/* --- ends ------------------------------------------------------------------------------------------------------------------ */

/* Puts a file back in its place. Only what changed is written: a file may be long. */
static void put_back(const char *path, const struct file *file)
{
    if (file->count == 0) return;
    struct bytes image = survivor(file);
    int fd = real_open(path, O_WRONLY);
    require(fd >= 0 && real_ftruncate(fd, (off_t)image.size) == 0, "a file that cannot be written");
    for (size_t i = 0; i < file->count; i++) {
        size_t from = file->changes[i].at, to = file->changes[i].bytes ? from + file->changes[i].size : image.size;
        if (to > image.size) to = image.size;
        if (from >= to) continue;
        ssize_t size = (ssize_t)(to - from);
        require(real_pwrite(fd, image.bytes + from, to - from, (off_t)from) == size, "a file that cannot be written");
    }
    real_close(fd);
}

static void cut_power(void)
{
    const struct names *kept = &tables[seed ? random_below(table_count) : 0];
    for (size_t i = 0; i < table_count; i++)
        for (int j = 0; j < tables[i].count; j++) {
            const char *name = tables[i].entry[j].name;
            int before = find(kept, name), after = find(now(), name);
            int stays = before != NONE && after != NONE && kept->entry[before].file == now()->entry[after].file;
            if (!stays || is_memory(name)) real_unlink(path_of(folder, name));
        }
    for (int i = 0; i < kept->count; i++) {
        const char *name = kept->entry[i].name;
        const struct file *file = &files[kept->entry[i].file];
        if (is_memory(name)) continue;
        if (access(path_of(folder, name), F_OK) == 0) put_back(path_of(folder, name), file);
        else write_whole(path_of(folder, name), survivor(file));
    }
    say("cut %ld\n", operation);
    _exit(0);
}

/* Keeps what is on disk for the next process: the synced bytes of every file, and the names then and now. */
static void end_process(void)
{
    char path[4096], number[16];
    snprintf(path, sizeof path, "%s/names", state);
    FILE *list = fopen(path, "w");
    require(list != NULL, "DISK_STATE");
    for (int i = 0; i < tables[0].count; i++) fprintf(list, "0 %d %s\n", tables[0].entry[i].file, tables[0].entry[i].name);
    for (int i = 0; i < now()->count; i++) fprintf(list, "1 %d %s\n", now()->entry[i].file, now()->entry[i].name);
    fclose(list);
    for (int i = 0; i < file_count; i++) {
        snprintf(number, sizeof number, "%d", i);
        write_whole(path_of(state, number), files[i].synced);
    }
    say("end %ld\n", operation);
    _exit(0);
}

/* What the process before left unsynced is one change to every file. */
static void go_on_after_end(void)
{
    char path[4096], name[256], number[16];
    int is_now, file;
    snprintf(path, sizeof path, "%s/names", state);
    FILE *list = fopen(path, "r");
    if (!list) return;
    change_names();
    while (fscanf(list, "%d %d %255s", &is_now, &file, name) == 3) {
        for (; file_count <= file; new_file()) {
            snprintf(number, sizeof number, "%d", file_count);
            files[file_count].synced = read_whole(path_of(state, number));
        }
        set_name(&tables[is_now], name, file);
        if (!is_now || is_memory(name)) continue;
        struct bytes whole = read_whole(path_of(folder, name));
        changed(file, whole.size, NULL, 0);
        changed(file, 0, whole.bytes, whole.size);
        free(whole.bytes);
    }
    fclose(list);
}

static long number(const char *name) { const char *text = getenv(name); return text ? atol(text) : 0; }

static void get_ready(void)
{
    if (is_ready) return;
    is_ready = 1;
    real_open = dlsym(RTLD_NEXT, "open"), real_close = dlsym(RTLD_NEXT, "close"), real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate"), real_rename = dlsym(RTLD_NEXT, "rename");
    real_linkat = dlsym(RTLD_NEXT, "linkat");
    real_unlink = dlsym(RTLD_NEXT, "unlink"), real_write = dlsym(RTLD_NEXT, "write"), real_pwrite = dlsym(RTLD_NEXT, "pwrite");
    folder = getenv("DISK_FOLDER"), state = getenv("DISK_STATE");
    fail_at = number("DISK_FAIL_AT"), error_number = number("DISK_ERROR"), forever = number("DISK_FOREVER") != 0;
    write_short = number("DISK_SHORT") != 0, cut_at = number("DISK_CUT_AT"), kill_at = number("DISK_KILL_AT");
    trace = number("DISK_TRACE") != 0, lie = number("DISK_LIE") != 0;
    random_state = seed = (uint64_t)number("DISK_SEED");
    for (int i = 0; i < MOST_FDS; i++) file_of_fd[i] = NONE;
    tables = grown(NULL, sizeof *tables);
    tables[0].count = 0;
    table_count = 1;
    if (state && !kill_at) go_on_after_end();
}

/* At the end of a traced run the files must be what was seen of them; if not, an operation went by another way. */
__attribute__((destructor)) static void finish(void)
{
    get_ready();
    if (!trace) return;
    for (int i = 0; i < now()->count; i++) {
        const char *name = now()->entry[i].name;
        struct file *file = &files[now()->entry[i].file];
        if (is_memory(name)) continue;
        synced(file);
        struct bytes whole = read_whole(path_of(folder, name));
        int same = whole.size == file->synced.size && memcmp(whole.bytes, file->synced.bytes, whole.size) == 0;
        say("%s %s\n", same ? "same" : "differs", name);
    }
    say("operations %ld\n", operation);
}

/* --- operations ------------------------------------------------------------------------------------------------------------ */

/* Counts an operation. Returns the error that it must end with, or 0. */
static int step(const char *what, const char *name)
{
    if (is_memory(name) && !error_number) return 0;
    operation++;
    if (operation == cut_at) cut_power();
    if (operation == kill_at) end_process();
    if (trace) say("operation %ld %s %s\n", operation, what, name);
    if (!fail_at || operation < fail_at || (operation > fail_at && !forever)) return 0;
    say("fault %ld %s %s\n", operation, what, name);
    return (int)error_number;
}

static const char *name_of(int file)
{
    for (int i = 0; i < now()->count; i++) if (now()->entry[i].file == file) return now()->entry[i].name;
    return "-";
}

static int tracked(int fd) { return is_ready && fd >= 0 && fd < MOST_FDS ? file_of_fd[fd] : NONE; }

#define LOCKED(type, body) \
    do { pthread_mutex_lock(&mutex); type result_; { body } pthread_mutex_unlock(&mutex); return result_; } while (0)
#define FAILED(number) (errno = (number), -1)

static int do_open(const char *path, int flags, mode_t mode)
{
    get_ready();
    const char *name = name_in_folder(path);
    if (!name) {
        int fd = real_open(path, flags, mode);
        if (fd >= 0 && fd < MOST_FDS) file_of_fd[fd] = folder && strcmp(path, folder) == 0 ? FOLDER : NONE;
        return fd;
    }
    struct stat about;
    int exists = stat(path, &about) == 0, error = 0, file;
    if (exists && S_ISDIR(about.st_mode)) return real_open(path, flags, mode);
    if (!exists && flags & O_CREAT) error = step("create", name);
    else if (exists && flags & O_TRUNC) error = step("truncate", name);
    if (error) return FAILED(error);
    int at = find(now(), name);
    if (exists && at == NONE) {
        /* It was there before this process, and is on disk. */
        file = new_file();
        if (trace || cut_at || kill_at) files[file].synced = read_whole(path);
        for (size_t i = 0; i < table_count; i++) set_name(&tables[i], name, file);
    } else if (exists) {
        file = now()->entry[at].file;
    }
    int fd = real_open(path, flags, mode);
    if (fd < 0) return fd;
    require(fd < MOST_FDS, "too many files are open");
    if (!exists) set_name(change_names(), name, file = new_file());
    else if (flags & O_TRUNC) changed(file, 0, NULL, 0);
    file_of_fd[fd] = file;
    return fd;
}

static ssize_t do_write(int fd, const void *bytes, size_t size, off_t at)
{
    int file = tracked(fd);
    if (file < 0) { get_ready(); return at < 0 ? real_write(fd, bytes, size) : real_pwrite(fd, bytes, size, at); }
    const char *name = name_of(file);
    int error = step("write", name);
    if (error && write_short && operation == fail_at && size > 1) size /= 2;
    else if (error) return FAILED(error);
    off_t place = at < 0 ? lseek(fd, 0, SEEK_CUR) : at;
    ssize_t written = at < 0 ? real_write(fd, bytes, size) : real_pwrite(fd, bytes, size, at);
    if (written > 0 && !is_memory(name)) changed(file, (size_t)place, bytes, (size_t)written);
    return written;
}

static int do_sync(int fd, const char *what)
{
    int file = tracked(fd);
    if (file == NONE) { get_ready(); return real_fsync(fd); }
    int error = step(what, file == FOLDER ? "." : name_of(file));
    if (error) {
        if (file != FOLDER) forget(&files[file]);
        return FAILED(error);
    }
    if (lie) return 0;
    if (file != FOLDER) { synced(&files[file]); return 0; }
    tables[0] = *now();
    table_count = 1;
    return 0;
}

static int do_truncate(int fd, off_t size)
{
    int file = tracked(fd);
    if (file < 0) { get_ready(); return real_ftruncate(fd, size); }
    const char *name = name_of(file);
    int error = step("truncate", name), result;
    if (error) return FAILED(error);
    result = real_ftruncate(fd, size);
    if (result == 0 && !is_memory(name)) changed(file, (size_t)size, NULL, 0);
    return result;
}

static int do_rename(const char *from, const char *to)
{
    get_ready();
    const char *old = name_in_folder(from), *name = name_in_folder(to);
    if (!old || !name || find(now(), old) == NONE) return real_rename(from, to);
    int error = step("rename", old), result;
    if (error) return FAILED(error);
    result = real_rename(from, to);
    if (result == 0) {
        struct names *names = change_names();
        int file = names->entry[find(names, old)].file;
        set_name(names, old, NONE);
        set_name(names, name, file);
    }
    return result;
}

static int do_link(const char *from, const char *to)
{
    get_ready();
    const char *old = name_in_folder(from), *name = name_in_folder(to);
    if (!old || !name || find(now(), old) == NONE) return real_linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
    int error = step("link", old), result;
    if (error) return FAILED(error);
    result = real_linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
    if (result == 0) {
        struct names *names = change_names();
        set_name(names, name, names->entry[find(names, old)].file);
    }
    return result;
}

static int do_unlink(const char *path)
{
    get_ready();
    const char *name = name_in_folder(path);
    if (!name || find(now(), name) == NONE) return real_unlink(path);
    int error = step("unlink", name), result;
    if (error) return FAILED(error);
    result = real_unlink(path);
    if (result == 0) set_name(change_names(), name, NONE);
    return result;
}

static int do_close(int fd)
{
    get_ready();
    if (fd >= 0 && fd < MOST_FDS) file_of_fd[fd] = NONE;
    return real_close(fd);
}

static mode_t mode_of(int flags, va_list arguments) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0; }

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = mode_of(flags, arguments); \
        va_end(arguments); \
        LOCKED(int, result_ = do_open(path, flags, mode);); \
    }
OPEN(open)
OPEN(open64)

int close(int fd) { LOCKED(int, result_ = do_close(fd);); }
ssize_t write(int fd, const void *bytes, size_t size) { LOCKED(ssize_t, result_ = do_write(fd, bytes, size, -1);); }
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { LOCKED(ssize_t, result_ = do_write(fd, bytes, size, at);); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) { LOCKED(ssize_t, result_ = do_write(fd, bytes, size, at);); }
int fsync(int fd) { LOCKED(int, result_ = do_sync(fd, "sync");); }
int fdatasync(int fd) { LOCKED(int, result_ = do_sync(fd, "sync");); }
int ftruncate(int fd, off_t size) { LOCKED(int, result_ = do_truncate(fd, size);); }
int ftruncate64(int fd, off64_t size) { LOCKED(int, result_ = do_truncate(fd, size);); }
int rename(const char *from, const char *to) { LOCKED(int, result_ = do_rename(from, to);); }
int link(const char *from, const char *to) { LOCKED(int, result_ = do_link(from, to);); }
int linkat(int at, const char *from, int to_at, const char *to, int flags)
{
    /* What the ledger asks for; anything else passes by. */
    if (at != AT_FDCWD || to_at != AT_FDCWD || flags) return real_linkat(at, from, to_at, to, flags);
    LOCKED(int, result_ = do_link(from, to););
}
int unlink(const char *path) { LOCKED(int, result_ = do_unlink(path);); }
