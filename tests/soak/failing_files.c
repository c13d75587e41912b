/* Makes the calls on files below one folder fail, tear or kill, and shifts the clock: a library for LD_PRELOAD.
 *
 * SOAK_UNDER   the folder whose files fail
 * SOAK_CALLS   which calls are counted, as a sum: 1 open, 2 read, 4 write, 8 sync, 16 rename, remove, truncate, link
 * SOAK_AT      the number of the call that fails, from 1
 * SOAK_HOW     the errno to fail with; "kill": SIGKILL before the call; "torn": half of a write, then SIGKILL
 * SOAK_STAYS   "1": each later call fails, too
 * SOAK_CLOCK   seconds that the clock is wrong by, from the call SOAK_CLOCK_AT of it on
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPEN = 1, READ = 2, WRITE = 4, SYNC = 8, CHANGE = 16 };

static char under[PATH_MAX];
static size_t under_length;
static long calls, at, error_number, seen, ticks, clock_at;
static long long shift;
static int kills, tears, stays;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

/* Reads the environment again; a forked process calls it for a fault of its own. */
__attribute__((constructor)) void soak_arm(void) {
    const char *folder = getenv("SOAK_UNDER"), *how = getenv("SOAK_HOW");
    under_length = 0;
    if (folder && strlen(folder) < sizeof under) {
        strcpy(under, folder);
        under_length = strlen(folder);
    }
    calls = number("SOAK_CALLS");
    at = number("SOAK_AT");
    stays = number("SOAK_STAYS") != 0;
    kills = how && strcmp(how, "kill") == 0;
    tears = how && strcmp(how, "torn") == 0;
    error_number = number("SOAK_HOW");
    shift = number("SOAK_CLOCK");
    clock_at = number("SOAK_CLOCK_AT");
    seen = ticks = 0;
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

/* 1 where the call has to fail, 2 where it has to be torn; errno is set. */
static int fails(int kind, const char *path) {
    if (!at || !under_length || !(calls & kind) || !path || strncmp(path, under, under_length)) return 0;
    long now = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (now < at || (now > at && !stays)) return 0;
    if (kills) die();
    if (tears) {
        if (kind != WRITE) die();
        return 2;
    }
    errno = (int)error_number;
    return 1;
}

static int fails_fd(int kind, int fd) {
    char link[64], path[PATH_MAX];
    if (!at || !(calls & kind)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlink, link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return fails(kind, path);
}

static int fails_at(int kind, int folder, const char *path) {
    if (!at || !(calls & kind)) return 0;
    return path && path[0] != '/' && folder != AT_FDCWD ? fails_fd(kind, folder) : fails(kind, path);
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define OPENER(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, #name, const char *, int, ...); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return fails(OPEN, path) ? -1 : real(path, flags, mode); \
    }
OPENER(open)
OPENER(open64)

#define OPENER_AT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        REAL(int, #name, int, const char *, int, ...); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more); \
        return fails_at(OPEN, folder, path) ? -1 : real(folder, path, flags, mode); \
    }
OPENER_AT(openat)
OPENER_AT(openat64)

ssize_t read(int fd, void *buffer, size_t count) {
    REAL(ssize_t, "read", int, void *, size_t);
    return fails_fd(READ, fd) ? -1 : real(fd, buffer, count);
}

#define READER_AT(name, offset_type) \
    ssize_t name(int fd, void *buffer, size_t count, offset_type offset) { \
        REAL(ssize_t, #name, int, void *, size_t, offset_type); \
        return fails_fd(READ, fd) ? -1 : real(fd, buffer, count, offset); \
    }
READER_AT(pread, off_t)
READER_AT(pread64, off64_t)

ssize_t write(int fd, const void *buffer, size_t count) {
    REAL(ssize_t, "write", int, const void *, size_t);
    switch (fails_fd(WRITE, fd)) {
    case 1: return -1;
    case 2: real(fd, buffer, count / 2); die();
    }
    return real(fd, buffer, count);
}

#define WRITER_AT(name, offset_type) \
    ssize_t name(int fd, const void *buffer, size_t count, offset_type offset) { \
        REAL(ssize_t, #name, int, const void *, size_t, offset_type); \
        switch (fails_fd(WRITE, fd)) { \
        case 1: return -1; \
        case 2: real(fd, buffer, count / 2, offset); die(); \
        } \
        return real(fd, buffer, count, offset); \
    }
WRITER_AT(pwrite, off_t)
WRITER_AT(pwrite64, off64_t)

#define ON_FD(name, kind) \
    int name(int fd) { \
        REAL(int, #name, int); \
        return fails_fd(kind, fd) ? -1 : real(fd); \
    }
ON_FD(fsync, SYNC)
ON_FD(fdatasync, SYNC)

#define TRUNCATER(name, offset_type) \
    int name(int fd, offset_type length) { \
        REAL(int, #name, int, offset_type); \
        return fails_fd(CHANGE, fd) ? -1 : real(fd, length); \
    }
TRUNCATER(ftruncate, off_t)
TRUNCATER(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    return fails(CHANGE, to) ? -1 : real(from, to);
}

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    return fails(CHANGE, path) ? -1 : real(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    return fails(CHANGE, path) ? -1 : real(path, mode);
}

static long long wrong_by(void) {
    if (!shift) return 0;
    return __atomic_add_fetch(&ticks, 1, __ATOMIC_SEQ_CST) > clock_at ? shift : 0;
}

int clock_gettime(clockid_t which, struct timespec *now) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int result = real(which, now);
    if (!result && which == CLOCK_REALTIME) now->tv_sec += wrong_by();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(int, "gettimeofday", struct timeval *, void *);
    int result = real(now, zone);
    if (!result) now->tv_sec += wrong_by();
    return result;
}

time_t time(time_t *out) {
    REAL(time_t, "time", time_t *);
    time_t now = real(NULL) + wrong_by();
    if (out) *out = now;
    return now;
}
