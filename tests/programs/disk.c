/* A disk that fails, or that writes down what is done to it. Loaded by LD_PRELOAD; `disk.py` speaks with it.
 *
 * It sees the calls of Python and of SQLite on files below the folder DISK_UNDER. With DISK_LOG, each call that succeeded
 * is a record there: an operation, an inode, an offset or a size, two lengths, and as many bytes.
 */
#define _GNU_SOURCE
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

enum kind { WRITE, FSYNC, RENAME, FTRUNCATE };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int armed = -1, fails_with, fails_at, fails_times, calls, failures;
static int log_file = -2;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void disk_fail(int kind, int error, int at, int times) {
    pthread_mutex_lock(&lock);
    armed = kind, fails_with = error, fails_at = at, fails_times = times, calls = failures = 0;
    pthread_mutex_unlock(&lock);
}

int disk_failures(void) { return failures; }

int disk_calls(void) { return calls; }

static int is_under(const char *path) {
    const char *under = getenv("DISK_UNDER");
    return under && path && !strncmp(path, under, strlen(under));
}

static int path_of(int file, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, size - 1);
    path[length < 0 ? 0 : length] = 0;
    return is_under(path);
}

/* Call it with the lock. */
static int fails(enum kind kind) {
    if ((int)kind != armed || ++calls < fails_at || calls >= fails_at + fails_times) return 0;
    failures++;
    errno = fails_with;
    return 1;
}

struct record {
    uint64_t inode, at;
    uint32_t first, second;
    char operation, padding[7];
};

static void note(char operation, uint64_t inode, uint64_t at, const void *a, size_t first, const void *b, size_t second) {
    int error = errno;
    if (log_file == -2) {
        const char *path = getenv("DISK_LOG");
        log_file = path ? REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    }
    if (log_file >= 0) {
        struct record record = {inode, at, first, second, operation, {0}};
        char *all = malloc(sizeof record + first + second);
        memcpy(all, &record, sizeof record);
        memcpy(all + sizeof record, a, first);
        memcpy(all + sizeof record + first, b, second);
        if (REAL(write)(log_file, all, sizeof record + first + second) < 0) abort();
        free(all);
    }
    errno = error;
}

void disk_note(int number) {
    pthread_mutex_lock(&lock);
    note('N', 0, number, "", 0, "", 0);
    pthread_mutex_unlock(&lock);
}

static uint64_t inode_of(int file) {
    struct stat state;
    return fstat(file, &state) ? 0 : state.st_ino;
}

#define FAILING(kind, ours, call)    \
    if (!(ours)) return call;        \
    pthread_mutex_lock(&lock);       \
    if (fails(kind)) {               \
        pthread_mutex_unlock(&lock); \
        return -1;                   \
    }

ssize_t write(int file, const void *content, size_t size) {
    char path[4096];
    FAILING(WRITE, path_of(file, path, sizeof path), REAL(write)(file, content, size))
    ssize_t done = REAL(write)(file, content, size);
    if (done > 0) note('W', inode_of(file), lseek(file, 0, SEEK_CUR) - done, content, done, "", 0);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite64(int file, const void *content, size_t size, off64_t at) {
    char path[4096];
    FAILING(WRITE, path_of(file, path, sizeof path), REAL(pwrite64)(file, content, size, at))
    ssize_t done = REAL(pwrite64)(file, content, size, at);
    if (done > 0) note('W', inode_of(file), at, content, done, "", 0);
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite(int file, const void *content, size_t size, off_t at) { return pwrite64(file, content, size, at); }

static int synced(int file, int (*call)(int)) {
    char path[4096];
    struct stat state;
    FAILING(FSYNC, path_of(file, path, sizeof path), call(file))
    int done = call(file);
    if (!done && !fstat(file, &state))
        note(S_ISDIR(state.st_mode) ? 'D' : 'S', state.st_ino, 0, path, strlen(path), "", 0);
    pthread_mutex_unlock(&lock);
    return done;
}

int fsync(int file) { return synced(file, REAL(fsync)); }

int fdatasync(int file) { return synced(file, REAL(fdatasync)); }

int ftruncate64(int file, off64_t size) {
    char path[4096];
    FAILING(FTRUNCATE, path_of(file, path, sizeof path), REAL(ftruncate64)(file, size))
    int done = REAL(ftruncate64)(file, size);
    if (!done) note('T', inode_of(file), size, "", 0, "", 0);
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate(int file, off_t size) { return ftruncate64(file, size); }

int rename(const char *from, const char *to) {
    FAILING(RENAME, is_under(to), REAL(rename)(from, to))
    int done = REAL(rename)(from, to);
    if (!done) note('R', 0, 0, from, strlen(from), to, strlen(to));
    pthread_mutex_unlock(&lock);
    return done;
}

int renameat2(int here, const char *from, int there, const char *to, unsigned flags) {
    FAILING(RENAME, is_under(to), REAL(renameat2)(here, from, there, to, flags))
    int done = REAL(renameat2)(here, from, there, to, flags);
    if (!done) note(flags & RENAME_EXCHANGE ? 'X' : 'R', 0, 0, from, strlen(from), to, strlen(to));
    pthread_mutex_unlock(&lock);
    return done;
}

int link(const char *from, const char *to) {
    if (!is_under(to)) return REAL(link)(from, to);
    pthread_mutex_lock(&lock);
    int done = REAL(link)(from, to);
    if (!done) note('L', 0, 0, from, strlen(from), to, strlen(to));
    pthread_mutex_unlock(&lock);
    return done;
}

int unlink(const char *path) {
    if (!is_under(path)) return REAL(unlink)(path);
    pthread_mutex_lock(&lock);
    int done = REAL(unlink)(path);
    if (!done) note('U', 0, 0, path, strlen(path), "", 0);
    pthread_mutex_unlock(&lock);
    return done;
}

static int opened(int here, const char *path, int flags, mode_t mode) {
    if (!is_under(path) || !(flags & (O_CREAT | O_TRUNC))) return REAL(openat64)(here, path, flags, mode);
    pthread_mutex_lock(&lock);
    int existed = !access(path, F_OK);
    int file = REAL(openat64)(here, path, flags, mode);
    if (file >= 0 && !existed) note('C', inode_of(file), 0, path, strlen(path), "", 0);
    if (file >= 0 && existed && flags & O_TRUNC) note('T', inode_of(file), 0, "", 0, "", 0);
    pthread_mutex_unlock(&lock);
    return file;
}

#define MODE                                   \
    va_list rest;                              \
    va_start(rest, flags);                     \
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
    va_end(rest);

int open64(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }

int open(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }

int openat64(int here, const char *path, int flags, ...) { MODE return opened(here, path, flags, mode); }

int openat(int here, const char *path, int flags, ...) { MODE return opened(here, path, flags, mode); }
