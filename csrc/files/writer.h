/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records into a file that appears whole or not at all.
 *
 * Bytes go to a temporary file in the target's directory. Closing writes what is buffered, syncs
 * the file, renames it over the target and syncs the directory; aborting, or any error, removes
 * it and leaves the target as it was. A failed sync is final: the kernel has dropped the pages.
 * Only a failure to sync the directory leaves a whole new file in place: FR_FAULT_UNSYNCED.
 *
 * A writer that appends has no temporary file. It holds a lock on the file that keeps other such
 * writers away, and aborting cuts the file back to what it was. That its last record is whole is
 * for the caller to look at. A process that is killed leaves what it wrote, up to any byte.
 *
 * A single writer is not safe to use by several threads at once; different writers are
 * independent, also on one target, where the last to close wins whole. A child made by fork() can
 * only abort its copy of a writer, which leaves the parent's file alone.
 */
#ifndef FASTREC_WRITER_H
#define FASTREC_WRITER_H

#include "format/frame.h"

typedef struct {
    bool exclusive; /* refuse to replace a file that is there when the writer closes */
    bool no_sync;   /* leave the syncing to the system */
    bool append;    /* write to the file itself, behind what it holds */
    bool empty;     /* with append: first remove what it holds; a lock is not required */
} fr_writer_options;

/* All-zero is a valid closed writer. */
typedef struct {
    fr_writer_options options;
    int fd;
    int64_t pid; /* of the process that opened it */
    bool open;
    char *path, *temporary;
    char *replaced; /* once in place: another name of what was there before */
    bool in_place;
    bool was_there; /* and there was something */
    bool created;   /* the file that is appended to was not there */
    uint64_t target_device, target_inode, target_size; /* of the file to be replaced, at opening */
    uint64_t start;                                    /* its size when it was opened */
    fr_buffer buffer;
    size_t piece;      /* bytes that are written together; 0 without a buffer */
    bool reserves;     /* has blocks for the file before they are written to */
    uint64_t reserved; /* up to there */
    uint64_t written;  /* bytes that the system has */
    uint64_t count;    /* records written */
    uint64_t size;     /* bytes written, buffered ones included */
    fr_error failed;   /* once status is not 0, every call says this again */
} fr_writer;

/* Creates the temporary file. A symbolic link is followed: its target is what is replaced. The
   mode of a file that is replaced is kept. FR_ERR_IO with EEXIST when exclusive and there. */
FR_NODISCARD int fr_writer_open(fr_writer *writer, const char *path,
                                const fr_writer_options *options, fr_error *err);

/* Frames one record into the buffer, writing when it is full. */
FR_NODISCARD int fr_writer_record(fr_writer *writer, fr_span data, fr_error *err);

/* As fr_writer_record() for each of `count` records. */
FR_NODISCARD int fr_writer_spans(fr_writer *writer, const fr_span *records, size_t count,
                                 fr_error *err);

/* Takes bytes that are whole frames already, `count` of them. */
FR_NODISCARD int fr_writer_frames(fr_writer *writer, fr_span frames, uint64_t count, fr_error *err);

/* Hands what is buffered to the system. */
FR_NODISCARD int fr_writer_flush(fr_writer *writer, fr_error *err);

/* Syncs and closes the temporary file, so that what is left to do is to publish: the one way to
   keep thousands of files unpublished. Nothing can be written any more. */
FR_NODISCARD int fr_writer_finish(fr_writer *writer, fr_error *err);

/* Another path to publish under, in the same directory. */
FR_NODISCARD int fr_writer_rename(fr_writer *writer, const char *path, fr_error *err);

/*
 * Gives the file its name, and keeps what had the name under another until the writer is closed.
 * So files that belong together are put in place one by one, when all are finished, and when one
 * cannot be, those before it are taken back; then each is closed. Of a file that is appended to
 * there is nothing to do.
 */
FR_NODISCARD int fr_writer_put_in_place(fr_writer *writer, fr_error *err);

/* Undoes that. False when the target is not as it was: a file system without hard links keeps
   nothing of what is replaced. */
bool fr_writer_take_back(fr_writer *writer);

/* Publishes. On failure the target is as it was and the temporary file is gone; but with
   FR_FAULT_UNSYNCED it is the new file, which a power failure may undo. */
FR_NODISCARD int fr_writer_close(fr_writer *writer, fr_error *err);

/* Publishes nothing and removes the temporary file. Safe at any time, any number of times. */
void fr_writer_abort(fr_writer *writer);

#endif
