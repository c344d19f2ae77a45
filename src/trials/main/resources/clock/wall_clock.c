/*
 * Shifts the wall clock of a process, as if the clock of its machine were wrong. The monotonic clock is not shifted.
 *
 *   cc -shared -fPIC -O2 -o wall_clock.so wall_clock.c -ldl
 *   WALL_CLOCK_OFFSET=<file> LD_PRELOAD=./wall_clock.so java ...
 *
 * The first 8 bytes of the file are the offset in ms, in the byte order of the machine. The file is mapped, so a write
 * to it steps the clock of the running process.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/*
 * The earliest time of the wall clock (in the year 2001). Earlier times are of the monotonic clock, at most 31 years
 * after the boot.
 */
#define EARLIEST_WALL_SECONDS 1000000000

static const volatile int64_t *offset_ms;
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

__attribute__((constructor)) static void start(void) {
    if (offset_ms != NULL) {
        return;
    }
    real_clock_gettime = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
    real_cond_timedwait = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))
        dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    const char *path = getenv("WALL_CLOCK_OFFSET");
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) {
        fprintf(stderr, "wall_clock: cannot map the file that WALL_CLOCK_OFFSET names\n");
        abort();
    }
    close(file);
    offset_ms = mapped;
}

/* Adds milliseconds to a time. */
static void shift(struct timespec *time, int64_t ms) {
    int64_t nanos = time->tv_nsec + ms % 1000 * 1000000;
    time->tv_sec += ms / 1000 + (nanos >= 1000000000) - (nanos < 0);
    time->tv_nsec = nanos + (nanos < 0) * 1000000000 - (nanos >= 1000000000) * 1000000000;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    start();
    int result = real_clock_gettime(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        shift(now, *offset_ms);
    }
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void) zone;
    struct timespec time;
    int result = clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return result;
}

time_t time(time_t *now) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (now != NULL) {
        *now = time.tv_sec;
    }
    return time.tv_sec;
}

/*
 * RocksDB waits until times of the wall clock. Without this function, its timers would spin or stop in a process whose
 * clock is shifted.
 */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    start();
    struct timespec real = *until;
    if (until->tv_sec >= EARLIEST_WALL_SECONDS) {
        shift(&real, -*offset_ms);
    }
    return real_cond_timedwait(condition, mutex, &real);
}
