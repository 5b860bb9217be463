/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/platform.h"

int fr_fail(fr_error *err, int status, const char *format, ...) {
    if (!err) return status;
    memset(err, 0, sizeof *err);
    err->status = status;
    err->file = err->record = err->offset = err->frame = -1;
    va_list args;
    va_start(args, format);
    vsnprintf(err->cause, sizeof err->cause, format, args);
    va_end(args);
    return status;
}

int fr_check_process(int64_t pid, const char *what, fr_error *err) {
    if (pid == fr_process_id()) return FR_OK;
    return fr_fail(err, FR_ERR_STATE,
                   "create another in the child: only process %" PRId64 " can use %s", pid, what);
}

void fr_add_hint(fr_error *err, const char *format, ...) {
    if (!err) return;
    const size_t used = strlen(err->hint);
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint + used, sizeof err->hint - used, format, args);
    va_end(args);
}

int fr_fail_io(fr_error *err, int sys_errno, const char *doing) {
    fr_fail(err, FR_ERR_IO, "%s: %s", doing, strerror(sys_errno));
    if (err) err->sys_errno = sys_errno;
    return FR_ERR_IO;
}

int fr_fail_nomem(fr_error *err, uint64_t size) {
    return fr_fail(err, FR_ERR_NOMEM, "cannot allocate %" PRIu64 " bytes", size);
}

const char *fr_fault_name(fr_fault fault) {
    switch (fault) {
        case FR_FAULT_NONE:
            break;
        case FR_FAULT_LENGTH_CRC:
            return "length-crc";
        case FR_FAULT_DATA_CRC:
            return "data-crc";
        case FR_FAULT_TORN_HEADER:
            return "torn-header";
        case FR_FAULT_TORN_DATA:
            return "torn-data";
        case FR_FAULT_TORN_FOOTER:
            return "torn-footer";
        case FR_FAULT_TOO_LARGE:
            return "too-large";
        case FR_FAULT_ZERO_FILL:
            return "zero-fill";
        case FR_FAULT_SHRUNK:
            return "shrunk";
        case FR_FAULT_CUT:
            return "cut";
        case FR_FAULT_CHANGED:
            return "changed";
        case FR_FAULT_UNSYNCED:
            return "unsynced";
        case FR_FAULT_LOCKED:
            return "locked";
        case FR_FAULT_GROWN:
            return "grown";
    }
    return "";
}
