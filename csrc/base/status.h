/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and the error struct.
 *
 * Zero is success, a positive value is an outcome that the caller asked about, a negative value is
 * an error. Every fallible function returns one of these as an int and takes `fr_error *err` last,
 * which may be NULL. The function that detects an error states the cause; the functions above it
 * add coordinates (file, record, offset, feature, frame). Nothing here is a message: that is put
 * together once, from all fields, where the exception is raised.
 */
#ifndef FASTREC_STATUS_H
#define FASTREC_STATUS_H

#include <stdint.h>

enum {
    FR_OK = 0,
    FR_END = 1,            /* no more records */
    FR_AGAIN = 2,          /* needs more bytes, or the wait timed out */
    FR_ERR_NOMEM = -1,     /* an allocation failed */
    FR_ERR_IO = -2,        /* the operating system said no; err->sys_errno says why */
    FR_ERR_CORRUPT = -3,   /* framing: a checksum is wrong */
    FR_ERR_TRUNCATED = -4, /* framing: the bytes end inside a record */
    FR_ERR_LIMIT = -5,     /* more than the caller allowed */
    FR_ERR_MALFORMED = -6, /* a sound frame around bytes that are not the message they should be */
    FR_ERR_SCHEMA = -7,    /* a sound message of the wrong kind, shape or range */
    FR_ERR_ARG = -8,       /* the caller asked for something that cannot be */
    FR_ERR_STATE = -9,     /* closed, or of another process */
    FR_ERR_INDEX = -10,    /* an index that is not the file's, or not one at all */
    FR_ERR_MANIFEST = -11  /* a file that is not as its manifest says */
};

/* The kind of fault, nearly always of framing. Python's `.kind` is fr_fault_name() of it. */
typedef enum {
    FR_FAULT_NONE = 0,
    FR_FAULT_LENGTH_CRC,  /* the length disagrees with its own checksum */
    FR_FAULT_DATA_CRC,    /* the data disagrees with its checksum */
    FR_FAULT_TORN_HEADER, /* the bytes end inside the 12-byte header */
    FR_FAULT_TORN_DATA,   /* ... inside the data */
    FR_FAULT_TORN_FOOTER, /* ... inside the 4-byte footer */
    FR_FAULT_TOO_LARGE,   /* a length that no file or limit here allows */
    FR_FAULT_ZERO_FILL,   /* zeros where a header should be */
    FR_FAULT_SHRUNK,      /* the file lost bytes while it was read */
    FR_FAULT_CUT,         /* a range of a file begins inside a record */
    FR_FAULT_CHANGED,     /* the file was replaced or written to while it was read */
    FR_FAULT_UNSYNCED,    /* FR_ERR_IO: a file is in its place, its directory not on the disk */
    FR_FAULT_LOCKED,      /* FR_ERR_IO: the lock of a file cannot be had */
    FR_FAULT_GROWN        /* FR_ERR_IO: a file was appended to that a writer was to replace */
} fr_fault;

#define FR_FEATURE_TEXT_SIZE 128

/* What went wrong, and where; a coordinate that is not known is -1. The file is a number, because
   only the caller knows what the user calls it: a path, a URL, an open file. */
typedef struct {
    int status;
    fr_fault fault;
    int sys_errno;
    int64_t file;   /* number of the file among those the object was made of */
    int64_t record; /* number of the record, from 0, within that file or batch */
    int64_t offset; /* file position of the record's header */
    int64_t frame;  /* number of the element in a feature list */
    uint64_t length;
    uint32_t stored_crc, computed_crc;
    char feature[FR_FEATURE_TEXT_SIZE]; /* its name, printable; empty when it is not about one */
    char cause[192];                    /* what is wrong, with the numbers, in one line of ASCII */
    char hint[160];                     /* what may help; empty without */
} fr_error;

#if defined(__GNUC__)
#define FR_NODISCARD __attribute__((warn_unused_result))
#if defined(__MINGW32__) && !defined(__clang__) /* whose printf is that of an old C library */
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

/* Starts `err` afresh with `status` and a cause, which is one line. Returns `status`. */
int fr_fail(fr_error *err, int status, const char *format, ...) FR_PRINTF(3, 4);

/* As fr_fail() with FR_ERR_IO: `sys_errno` and what was being done. */
int fr_fail_io(fr_error *err, int sys_errno, const char *doing);

/* As fr_fail() with FR_ERR_NOMEM: how many bytes could not be had. */
int fr_fail_nomem(fr_error *err, uint64_t size);

/* Appends to the hint, as far as there is room. */
void fr_add_hint(fr_error *err, const char *format, ...) FR_PRINTF(2, 3);

/* "length-crc", "torn-data", ...; "" for FR_FAULT_NONE. */
const char *fr_fault_name(fr_fault fault);

/* Leaves the calling function with the status of a call that failed or had another outcome. */
#define FR_TRY(call)                                                                               \
    do {                                                                                           \
        int fr_try_status = (call);                                                                \
        if (FR_UNLIKELY(fr_try_status != FR_OK)) return fr_try_status;                             \
    } while (0)

#endif
