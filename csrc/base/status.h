/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and the error struct.
 *
 * Zero is success, a positive value is an expected outcome such as the end, and a negative value is
 * an error. Every fallible function returns a status as an int, and its last parameter is
 * `fr_error *err`, which may be NULL. The function that detects an error states the cause, and its
 * callers add coordinates (file, record, offset, feature, frame). The message is formatted once,
 * from all fields, where the Python exception is raised.
 */
#ifndef FASTREC_STATUS_H
#define FASTREC_STATUS_H

#include <stdint.h>

enum {
    FR_OK = 0,
    FR_END = 1,            /* no more records */
    FR_AGAIN = 2,          /* needs more bytes, or the wait timed out */
    FR_ERR_NOMEM = -1,     /* an allocation failed */
    FR_ERR_IO = -2,        /* a system call failed; the reason is err->sys_errno */
    FR_ERR_CORRUPT = -3,   /* framing: a checksum is wrong */
    FR_ERR_TRUNCATED = -4, /* framing: the bytes end inside a record */
    FR_ERR_LIMIT = -5,     /* more than the caller allowed */
    FR_ERR_MALFORMED = -6, /* a valid frame whose data is not the expected message */
    FR_ERR_SCHEMA = -7,    /* a valid message with a value of the wrong kind, shape or range */
    FR_ERR_ARG = -8,       /* an invalid argument */
    FR_ERR_STATE = -9,     /* the object is closed or belongs to another process */
    FR_ERR_INDEX = -10,    /* not an index, or the index of another file */
    FR_ERR_MANIFEST = -11  /* a file differs from its manifest */
};

/* The kind of fault, usually in the framing. In Python, `error.kind` is its fr_fault_name(). */
typedef enum {
    FR_FAULT_NONE = 0,
    FR_FAULT_LENGTH_CRC,  /* the length disagrees with its own checksum */
    FR_FAULT_DATA_CRC,    /* the data disagrees with its checksum */
    FR_FAULT_TORN_HEADER, /* the bytes end inside the 12-byte header */
    FR_FAULT_TORN_DATA,   /* ... inside the data */
    FR_FAULT_TORN_FOOTER, /* ... inside the 4-byte footer */
    FR_FAULT_TOO_LARGE,   /* a length that exceeds the file or a limit */
    FR_FAULT_ZERO_FILL,   /* zeros where a header should be */
    FR_FAULT_SHRUNK,      /* the file lost bytes while it was read */
    FR_FAULT_CUT,         /* a range of a file begins inside a record */
    FR_FAULT_CHANGED,     /* the file was replaced or written to while it was read */
    FR_FAULT_UNSYNCED,    /* FR_ERR_IO: a file was renamed, but its directory was not synced */
    FR_FAULT_LOCKED,      /* FR_ERR_IO: another process holds the lock of a file */
    FR_FAULT_GROWN        /* FR_ERR_IO: the file to replace was appended to in the meantime */
} fr_fault;

#define FR_FEATURE_TEXT_SIZE 128

/* The cause and place of an error. Unknown coordinates are -1. A file is identified by its number,
   because only the caller knows how the user named it: by a path, a URL or an open file. */
typedef struct {
    int status;
    fr_fault fault;
    int sys_errno;
    int64_t file;   /* number of the file in the object's list of files */
    int64_t record; /* number of the record, from 0, within that file or batch */
    int64_t offset; /* file position of the record's header */
    int64_t frame;  /* number of the element in a feature list */
    uint64_t length;
    uint32_t stored_crc, computed_crc;
    char feature[FR_FEATURE_TEXT_SIZE]; /* printable name of the affected feature, or empty */
    char cause[192];                    /* the cause, with numbers, as one line of ASCII */
    char hint[160];                     /* a remedy, or empty */
} fr_error;

#if defined(__GNUC__)
#define FR_NODISCARD __attribute__((warn_unused_result))
#if defined(__MINGW32__) && !defined(__clang__) /* its default printf belongs to an old C library  \
                                                 */
#define FR_PRINTF(text, first) __attribute__((__format__(__gnu_printf__, text, first)))
#else
#define FR_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#endif
#define FR_LIKELY(x) __builtin_expect(!!(x), 1)
#define FR_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define FR_NODISCARD
#define FR_PRINTF(text, first)
#define FR_LIKELY(x) (x)
#define FR_UNLIKELY(x) (x)
#endif

/* Resets `err` to `status` and a one-line cause. Returns `status`. */
int fr_fail(fr_error *err, int status, const char *format, ...) FR_PRINTF(3, 4);

/* Like fr_fail() with FR_ERR_IO, for a system call that failed with `sys_errno` while `doing`. */
int fr_fail_io(fr_error *err, int sys_errno, const char *doing);

/* Like fr_fail() with FR_ERR_NOMEM, for an allocation of `size` bytes. */
int fr_fail_nomem(fr_error *err, uint64_t size);

/* Fails with FR_ERR_STATE in a child of process `pid`, which made `what`. Threads of `pid` do not
   run in the child, and may have held a mutex or changed memory when fork() was called. */
int fr_check_process(int64_t pid, const char *what, fr_error *err);

/* Appends to the hint and truncates the text at the hint's size. */
void fr_add_hint(fr_error *err, const char *format, ...) FR_PRINTF(2, 3);

/* Returns "length-crc", "torn-data", ..., or "" for FR_FAULT_NONE. */
const char *fr_fault_name(fr_fault fault);

/* Returns the call's status from the enclosing function unless it is FR_OK. */
#define FR_TRY(call)                                                                               \
    do {                                                                                           \
        int fr_try_status = (call);                                                                \
        if (FR_UNLIKELY(fr_try_status != FR_OK)) return fr_try_status;                             \
    } while (0)

#endif
